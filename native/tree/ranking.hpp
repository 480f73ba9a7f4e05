// Label vectors in decreasing order of probability.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace labelweave::tree {

// What a search for n_best vectors a row fills. A row with fewer possible vectors ends in labels -1 and
// log-probabilities -inf.
struct RankedVectors {
    std::size_t n_best;
    std::int8_t* labels;  // n_rows x n_best x n_labels
    double* log_prob;     // n_rows x n_best, decreasing
};

// Write the best of some vectors, decreasing, the earlier among equals first.
class Ranking {
  public:
    // labels holds the vectors one after the other; log_prob is by vector.
    void write(const std::vector<std::int8_t>& labels, const std::vector<double>& log_prob, std::size_t n_labels,
               const RankedVectors& out, std::size_t row) {
        index_.resize(log_prob.size());
        std::iota(index_.begin(), index_.end(), std::size_t{0});
        const std::size_t kept = std::min(out.n_best, index_.size());
        std::partial_sort(index_.begin(), index_.begin() + kept, index_.end(), [&](std::size_t i, std::size_t j) {
            return log_prob[i] != log_prob[j] ? log_prob[i] > log_prob[j] : i < j;
        });
        for (std::size_t k = 0; k < out.n_best; ++k) {
            std::int8_t* to = out.labels + (row * out.n_best + k) * n_labels;
            const bool possible = k < kept && log_prob[index_[k]] > -std::numeric_limits<double>::infinity();
            out.log_prob[row * out.n_best + k] =
                possible ? log_prob[index_[k]] : -std::numeric_limits<double>::infinity();
            if (possible)
                std::copy_n(labels.data() + index_[k] * n_labels, n_labels, to);
            else
                std::fill_n(to, n_labels, std::int8_t{-1});
        }
    }

  private:
    std::vector<std::size_t> index_;
};

}  // namespace labelweave::tree
