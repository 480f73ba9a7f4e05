#include "chain/relaxed_effects.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace labelweave::chain {

void RelaxedEffects::load(const OpenRow& row, const Relaxation& fitted) {
    const std::size_t n = row.n_unknown(), n_terms = row.n_terms();
    stride_ = (n_terms + kLanes - 1) / kLanes * kLanes;
    effects_.assign(2 * n * stride_, 0.0);
    after_zeros_.assign(2 * n * stride_, 0.0);
    own_.resize(n);
    double *zero = after_zeros_.data(), *one = zero + stride_;
    size_ = fitted.constant_square() + std::fabs(row.constant());
    for (std::size_t k = 0; k < n; ++k) own_[k] = fitted.own_square(k);
    for (std::size_t j = 0; j < n_terms; ++j) add_term(row, fitted, j);
    for (std::size_t k = 0; k < n; ++k) one[k] += own_[k];
    for (std::size_t j = n; j < n_terms; ++j) (row.value(j) ? zero : one)[j] = -std::numeric_limits<double>::infinity();
    // Long sums have errors in the last digits, so the bound is raised above any possible rounding error.
    constant_ = fitted.constant_square() + row.constant() +
                2.0 * static_cast<double>(n_terms) * std::numeric_limits<double>::epsilon() * size_;
    root_bound_ = constant_;
    for (std::size_t j = 0; j < n_terms; ++j) root_bound_ += std::max(one[j], zero[j]);
    for (std::size_t i = 0; i + 2 * stride_ < after_zeros_.size(); ++i)
        after_zeros_[i + 2 * stride_] = after_zeros_[i] - std::max(effects_[i], 0.0);
}

void RelaxedEffects::add_term(const OpenRow& row, const Relaxation& fitted, std::size_t j) {
    const double u = fitted.tangent(j, true), v = fitted.tangent(j, false);
    const double *coupling = row.coupling(j), *split = fitted.split(j), *products = fitted.products(j);
    double &zero = after_zeros_[j], &one = after_zeros_[stride_ + j];
    one = fitted.at_score(j, true);
    zero = fitted.at_score(j, false);
    size_ += std::fabs(row.score(j)) + 32.0 + (j < row.n_unknown() ? std::fabs(own_[j]) : 0.0);
    for (std::size_t k = 0; k < row.n_causes(j); ++k) {
        const double square = j < row.n_unknown() ? products[k] : 0.0;
        const double if_one = u * coupling[k] + split[k] + square, if_zero = split[k] - v * coupling[k];
        size_ += std::fabs(coupling[k]) + std::fabs(split[k]) + std::fabs(square);
        one += std::max(if_one, 0.0);
        zero += std::max(if_zero, 0.0);
        own_[k] -= split[k];
        effects_[2 * k * stride_ + j] = if_zero;
        effects_[(2 * k + 1) * stride_ + j] = if_one;
    }
}

}  // namespace labelweave::chain
