// The admissible bound of best-first and beam search (math.md, 2.2): given a prefix, score z_k lies in an interval,
// so that label k contributes at most the log sigmoid of the interval's better end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chain/coupling.hpp"

namespace labelweave::chain {

// How far the labels from position p on can still raise or lower the score at q > p.
class ScoreIntervals {
  public:
    explicit ScoreIntervals(const Coupling& coupling);
    const double* rise(std::size_t p) const { return rise_.data() + p * stride_; }
    const double* fall(std::size_t p) const { return fall_.data() + p * stride_; }

  private:
    std::size_t stride_;
    std::vector<double> rise_, fall_;
};

// The values that evidence excludes, as amounts taken off a score: infinite for an excluded value.
struct Evidence {
    explicit Evidence(std::size_t stride) : value(stride), not_one(stride), not_zero(stride) {}
    void load(const Coupling& coupling, const std::int8_t* labels);

    std::vector<std::int8_t> value;  // by position: 0, 1, or -1 for unknown
    std::vector<double> not_one, not_zero;
};

// The interval bound. most[q], begin <= q < end, becomes the largest log-probability that the label at q
// can have: its score is z[q] + effect[q] plus anything between fall[q] and rise[q].
// May write up to the padding of a row.
void interval_bound(const double* z, const double* effect, const double* rise, const double* fall,
                    const Evidence& evidence, std::size_t begin, std::size_t end, double* most);

}  // namespace labelweave::chain
