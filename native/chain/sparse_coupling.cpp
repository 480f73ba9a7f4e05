#include "chain/sparse_coupling.hpp"

#include <algorithm>
#include <cmath>

namespace labelweave::chain {
namespace {

double effect_of(const Chain& chain, std::size_t cause, std::size_t on) {
    return chain.coupling[chain.order[on] * chain.n_labels + chain.order[cause]];
}

}  // namespace

SparseCoupling::SparseCoupling(const Chain& chain)
    : positive_sum_(chain.length), negative_sum_(chain.length), largest_positive_(chain.length),
      largest_negative_(chain.length), rise_(chain.length), fall_(chain.length) {
    std::vector<std::size_t> nonzero(chain.length, 0);
    for (std::size_t k = 0; k < chain.length; ++k)
        for (std::size_t j = 0; j < k; ++j) nonzero[j] += effect_of(chain, j, k) != 0.0;
    std::vector<bool> fill(chain.length);
    for (std::size_t j = 0; j < chain.length; ++j) fill[j] = 4 * nonzero[j] >= 3 * (chain.length - 1 - j);
    list_rows(chain, fill);
    transpose();
}

void SparseCoupling::list_rows(const Chain& chain, const std::vector<bool>& fill) {
    row_begin_.push_back(0);
    for (std::size_t k = 0; k < chain.length; ++k) {
        for (std::size_t j = 0; j < k; ++j) {
            const double v = effect_of(chain, j, k);
            if (v == 0.0 && !fill[j]) continue;
            row_position_.push_back(static_cast<std::uint32_t>(j));
            row_effect_.push_back(v);
            (v > 0.0 ? positive_sum_ : negative_sum_)[j] += std::fabs(v);
            double& most = (v > 0.0 ? largest_positive_ : largest_negative_)[j];
            most = std::max(most, std::fabs(v));
            (v > 0.0 ? rise_ : fall_)[k] += std::fabs(v);
        }
        row_begin_.push_back(row_effect_.size());
    }
}

void SparseCoupling::transpose() {
    column_begin_.assign(rise_.size() + 1, 0);
    for (const std::uint32_t j : row_position_) ++column_begin_[j + 1];
    for (std::size_t j = 0; j < rise_.size(); ++j) column_begin_[j + 1] += column_begin_[j];
    std::vector<std::size_t> next(column_begin_.begin(), column_begin_.end() - 1);
    position_.resize(row_effect_.size());
    effect_.resize(row_effect_.size());
    for (std::size_t k = 0; k < rise_.size(); ++k)
        for (std::size_t i = row_begin_[k]; i < row_begin_[k + 1]; ++i) {
            const std::size_t at = next[row_position_[i]]++;
            position_[at] = static_cast<std::uint32_t>(k);
            effect_[at] = row_effect_[i];
        }
    factor_.resize(effect_.size());
    inverse_.resize(effect_.size());
    for (std::size_t i = 0; i < effect_.size(); ++i) {
        factor_[i] = std::exp(effect_[i]);
        inverse_[i] = 1.0 / factor_[i];
    }
}

}  // namespace labelweave::chain
