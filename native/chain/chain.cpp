#include "chain/chain.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "chain/coupling.hpp"
#include "chain/interval_bound.hpp"
#include "random/philox.hpp"
#include "simd/lanes.hpp"
#include "simd/scalar_math.hpp"
#include "threads/parallel.hpp"

namespace labelweave::chain {
namespace {

constexpr std::size_t kRowBlock = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Walk one row from its loaded scores: decide(p, z_p) names the label at position p.
template <class Decide>
void walk(const Coupling& coupling, double* z, Decide&& decide) {
    for (std::size_t p = 0; p < coupling.length(); ++p)
        if (decide(p, z[p])) add_effect(z, coupling.effect(p), p + 1, coupling.length(), z);
}

// Sum of log(1 + e^z) over whole registers; a z of -inf adds nothing.
LABELWEAVE_KERNEL double sum_log1pexp(const double* z, std::size_t size) {
    Lanes total{};
    for (std::size_t j = 0; j < size; j += kLanes) {
        const Lanes x = load(z + j);
        const Lanes magnitude = abs(x), tail = log1p_unit(exp_nonpositive(-magnitude));
        total += select(x > 0.0, x, broadcast(0.0)) + select(magnitude > 708.0, broadcast(0.0), tail);
    }
    return sum(total);
}

// Scores of one label for all prefixes: the sums of every subset of the effects, by doubling.
LABELWEAVE_KERNEL void double_scores(double* w, std::size_t half, double effect) {
    for (std::size_t i = 0; i < half; ++i) w[half + i] = w[i] + effect;
}

// Split every prefix into its two continuations: y = 0 stays in place, y = 1 goes to the upper half.
// Both need log(1 + e^-|w|) only, eight prefixes at a time.
LABELWEAVE_KERNEL void split_prefixes(double* log_prob, const double* w, std::size_t size) {
    std::size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
        Lanes score, total;
        std::memcpy(&score, w + i, sizeof score);
        std::memcpy(&total, log_prob + i, sizeof total);
        const Lanes size_of_score = abs(score);
        const Lanes tail = log1p_unit(exp_nonpositive(-size_of_score));
        const Lanes one = total - (0.5 * (size_of_score - score) + tail);
        const Lanes zero = total - (0.5 * (size_of_score + score) + tail);
        std::memcpy(log_prob + size + i, &one, sizeof one);
        std::memcpy(log_prob + i, &zero, sizeof zero);
    }
    for (; i < size; ++i) {
        const double total = log_prob[i];
        log_prob[size + i] = total + bernoulli_log_prob(1, w[i]);
        log_prob[i] = total + bernoulli_log_prob(0, w[i]);
    }
}

// One row of table: all prefixes side by side, one label after the other.
class Expansion {
  public:
    Expansion(const Coupling& coupling, std::size_t n_columns)
        : coupling_(coupling), base_(coupling.stride()), log_prob_(n_columns), scores_(n_columns), column_(n_columns) {}

    void run(std::size_t row, const std::int8_t* known, const std::int64_t* slot, double* out) {
        coupling_.load(row, base_.data());
        open_.clear();
        log_prob_[0] = 0.0;
        column_[0] = 0;
        for (std::size_t q = 0; q < coupling_.length(); ++q) {
            const std::size_t label = coupling_.label(q);
            score_prefixes(q);
            if (known[label] < 0)
                branch(q, std::size_t{1} << slot[label]);
            else
                fix(q, known[label], slot[label] < 0 ? 0 : std::size_t{1} << slot[label]);
        }
        const std::size_t size = std::size_t{1} << open_.size();
        for (std::size_t i = 0; i < size; ++i) out[column_[i]] = log_prob_[i];
    }

  private:
    void score_prefixes(std::size_t q) {
        scores_[0] = base_[q];
        for (std::size_t t = 0; t < open_.size(); ++t)
            double_scores(scores_.data(), std::size_t{1} << t, coupling_.effect(open_[t])[q]);
    }

    void branch(std::size_t q, std::size_t bit) {
        const std::size_t size = std::size_t{1} << open_.size();
        split_prefixes(log_prob_.data(), scores_.data(), size);
        for (std::size_t i = 0; i < size; ++i) column_[size + i] = column_[i] | bit;
        open_.push_back(q);
    }

    void fix(std::size_t q, int y, std::size_t bit) {
        const std::size_t size = std::size_t{1} << open_.size();
        for (std::size_t i = 0; i < size; ++i) {
            log_prob_[i] += bernoulli_log_prob(y, scores_[i]);
            if (y) column_[i] |= bit;
        }
        if (y) add_effect(base_.data(), coupling_.effect(q), q + 1, coupling_.length(), base_.data());
    }

    const Coupling& coupling_;
    std::vector<double> base_, log_prob_, scores_;
    std::vector<std::size_t> column_, open_;
};

}  // namespace

void log_prob(const Chain& chain, const std::int8_t* labels, double* log_prob, int n_threads) {
    const Coupling coupling(chain);
    threads::parallel_rows(chain.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> z(coupling.stride());
        for (std::size_t i = begin; i < end; ++i) {
            const std::int8_t* y = labels + i * chain.n_labels;
            coupling.load(i, z.data());
            log_prob[i] = 0.0;
            walk(coupling, z.data(), [&](std::size_t p, double score) {
                const bool label = y[coupling.label(p)] != 0;
                log_prob[i] += bernoulli_log_prob(label, score);
                return label;
            });
        }
    });
}

void conditional_log_prob(const double* scores, const double* coupling, const std::int8_t* labels, std::size_t n_rows,
                          std::size_t n_labels, double* log_prob, int n_threads) {
    const std::size_t stride = (n_labels + kLanes - 1) / kLanes * kLanes;
    std::vector<double> effect(n_labels * stride, 0.0);  // by cause, so that a positive label costs one addition
    for (std::size_t k = 0; k < n_labels; ++k)
        for (std::size_t j = 0; j < n_labels; ++j) effect[k * stride + j] = coupling[j * n_labels + k];
    threads::parallel_rows(n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> z(stride, -kInfinity);
        for (std::size_t i = begin; i < end; ++i) {
            const std::int8_t* y = labels + i * n_labels;
            std::copy_n(scores + i * n_labels, n_labels, z.begin());
            for (std::size_t k = 0; k < n_labels; ++k)
                if (y[k]) add_effect(z.data(), effect.data() + k * stride, 0, n_labels, z.data());
            for (std::size_t j = 0; j < n_labels; ++j)
                if (y[j]) z[j] = -z[j];
            log_prob[i] = 0.0 - sum_log1pexp(z.data(), stride);
        }
    });
}

void greedy(const Chain& chain, std::int8_t* labels, double* log_prob, double* upper_bound, int n_threads) {
    const Coupling coupling(chain);
    const ScoreIntervals intervals(coupling);
    threads::parallel_rows(chain.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> z(coupling.stride());
        std::vector<double> most(coupling.stride());
        Evidence evidence(coupling.stride());
        for (std::size_t i = begin; i < end; ++i) {
            std::int8_t* y = labels + i * chain.n_labels;
            evidence.load(coupling, y);
            coupling.load(i, z.data());
            interval_bound(z.data(), coupling.effect(chain.length), intervals.rise(0), intervals.fall(0), evidence, 0,
                           chain.length, most.data());
            upper_bound[i] = std::accumulate(most.begin(), most.begin() + chain.length, 0.0);
            log_prob[i] = 0.0;
            walk(coupling, z.data(), [&](std::size_t p, double score) {
                std::int8_t& label = y[coupling.label(p)];
                if (label < 0) label = score > 0.0;
                log_prob[i] += bernoulli_log_prob(label, score);
                return label != 0;
            });
        }
    });
}

void table(const Chain& chain, const std::int8_t* known, const std::int64_t* slot, std::size_t n_columns, double* out,
           int n_threads) {
    const Coupling coupling(chain);
    threads::parallel_rows(chain.n_rows, 8, n_threads, [&](std::size_t begin, std::size_t end) {
        Expansion expansion(coupling, n_columns);
        for (std::size_t i = begin; i < end; ++i) {
            std::fill_n(out + i * n_columns, n_columns, -kInfinity);
            expansion.run(i, known + i * chain.n_labels, slot, out + i * n_columns);
        }
    });
}

void sample(const Chain& chain, const std::int64_t* rows, std::uint64_t seed, std::size_t n_draws, std::int8_t* labels,
            double* log_weight, int n_threads) {
    const Coupling coupling(chain);
    threads::parallel_rows(chain.n_rows * n_draws, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> z(coupling.stride());
        for (std::size_t cell = begin; cell < end; ++cell) {
            const std::size_t i = cell / n_draws;
            const auto draw = static_cast<std::uint32_t>(cell % n_draws);
            std::int8_t* y = labels + cell * chain.n_labels;
            coupling.load(i, z.data());
            double weight = 0.0;
            walk(coupling, z.data(), [&](std::size_t p, double score) {
                const std::size_t label = coupling.label(p);
                if (y[label] >= 0)
                    weight += bernoulli_log_prob(y[label], score);
                else
                    y[label] = random::uniform(seed, static_cast<std::uint64_t>(rows[i]), draw,
                                               static_cast<std::uint32_t>(label)) < sigmoid(score);
                return y[label] != 0;
            });
            log_weight[cell] = weight;
        }
    });
}

}  // namespace labelweave::chain
