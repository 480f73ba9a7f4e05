// The coupling V of a chain in chain order, which all kernels share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chain/chain.hpp"

namespace labelweave::chain {

// The coupling stored by cause: a positive label at position p adds effect(p)[q] to the score at position
// q > p, contiguous in q.
//
// Rows are padded by at least one SIMD register, so that vector loops may run over the end: padding scores are so
// large that a padding label is certain and costs nothing.
class Coupling {
  public:
    explicit Coupling(const Chain& chain);
    std::size_t length() const { return chain_.length; }
    std::size_t stride() const { return stride_; }
    std::size_t label(std::size_t p) const { return static_cast<std::size_t>(chain_.order[p]); }
    const double* effect(std::size_t p) const { return effect_.data() + p * stride_; }
    // z needs stride() entries.
    void load(std::size_t row, double* z) const;

  private:
    const Chain& chain_;
    std::size_t stride_;
    std::vector<double> effect_;
};

// out[q] = z[q] + effect[q] for begin <= q < end; out may be z.
void add_effect(const double* z, const double* effect, std::size_t begin, std::size_t end, double* out);

// tail[q] = log(1 + e^-|z[q]|): the likelier value of label q has log-probability -tail[q].
void log_tails(const double* z, std::size_t begin, std::size_t end, double* tail);

}  // namespace labelweave::chain
