#include "tree/factors.hpp"

#include <cstring>

namespace labelweave::tree {
namespace {

// The last, incomplete eight are done like all others: no result may depend on where a row lies.
LABELWEAVE_INLINE Lanes load_some(const double* z, std::size_t count) {
    Lanes lanes{};
    std::memcpy(&lanes, z, count * sizeof(double));
    return lanes;
}

LABELWEAVE_INLINE void log_conditional(Lanes z, double* zero, double* one) {
    const Lanes tail = log1p_unit(tail_odds(abs(z))), none{};
    store(zero, -(select(z > 0.0, z, none) + tail));
    store(one, -(select(z < 0.0, -z, none) + tail));
}

LABELWEAVE_INLINE void conditional(Lanes z, double* zero, double* one) {
    const Bernoulli label = bernoulli(z);
    store(zero, label.zero);
    store(one, label.one);
}

}  // namespace

LABELWEAVE_KERNEL void log_conditionals(const double* z, std::size_t count, double* zero, double* one) {
    std::size_t k = 0;
    for (; k + kLanes <= count; k += kLanes) log_conditional(load(z + k), zero + k, one + k);
    if (k < count) log_conditional(load_some(z + k, count - k), zero + k, one + k);
}

LABELWEAVE_KERNEL void sum_log_likelihoods(double* signed_odds, std::size_t n_rows, std::size_t n_labels,
                                           double* log_prob) {
    const Lanes none{};
    for (std::size_t k = 0; k < n_rows * n_labels; k += kLanes) {
        const Lanes s = load(signed_odds + k);
        store(signed_odds + k, -(select(s < 0.0, -s, none) + log1p_unit(tail_odds(abs(s)))));
    }
    for (std::size_t row = 0; row < n_rows; ++row) {
        double total = 0.0;
        for (std::size_t i = 0; i < n_labels; ++i) total += signed_odds[row * n_labels + i];
        log_prob[row] = total;
    }
}

LABELWEAVE_KERNEL void conditionals(const double* z, std::size_t count, double* zero, double* one) {
    std::size_t k = 0;
    for (; k + kLanes <= count; k += kLanes) conditional(load(z + k), zero + k, one + k);
    if (k < count) conditional(load_some(z + k, count - k), zero + k, one + k);
}

}  // namespace labelweave::tree
