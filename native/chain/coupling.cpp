#include "chain/coupling.hpp"

#include <algorithm>

#include "simd/lanes.hpp"

namespace labelweave::chain {
namespace {

constexpr double kPaddingScore = 800.0;

}  // namespace

Coupling::Coupling(const Chain& chain)
    : chain_(chain), stride_((chain.length / kLanes + 2) * kLanes), effect_((chain.length + 1) * stride_, 0.0) {
    for (std::size_t p = 0; p < chain.length; ++p)
        for (std::size_t q = p + 1; q < chain.length; ++q)
            effect_[p * stride_ + q] = chain.coupling[chain.order[q] * chain.n_labels + chain.order[p]];
}

void Coupling::load(std::size_t row, double* z) const {
    for (std::size_t p = 0; p < length(); ++p) z[p] = chain_.scores[row * chain_.n_labels + label(p)];
    std::fill(z + length(), z + stride_, kPaddingScore);
}

LABELWEAVE_KERNEL void add_effect(const double* z, const double* effect, std::size_t begin, std::size_t end,
                                  double* out) {
    for (std::size_t q = begin; q < end; ++q) out[q] = z[q] + effect[q];
}

LABELWEAVE_KERNEL void log_tails(const double* z, std::size_t begin, std::size_t end, double* tail) {
    for (std::size_t q = begin; q < end; q += kLanes) store(tail + q, log1p_unit(exp_nonpositive(-abs(load(z + q)))));
}

}  // namespace labelweave::chain
