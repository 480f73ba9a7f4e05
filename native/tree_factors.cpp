#include "tree_factors.hpp"

#include <cstring>

namespace labelweave {
namespace {

// e^-|z|; zero where exp_nonpositive would stop short of it, so that infinite log-odds are certain.
LABELWEAVE_INLINE Lanes tail_odds(Lanes size) {
    return select(size > 708.0, Lanes{}, exp_nonpositive(-size));
}

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
    const Lanes odds = tail_odds(abs(z));
    const Lanes likely = 1.0 / (1.0 + odds), unlikely = odds * likely;
    store(zero, select(z > 0.0, unlikely, likely));
    store(one, select(z > 0.0, likely, unlikely));
}

}  // namespace

LABELWEAVE_KERNEL void log_conditionals(const double* z, std::size_t count, double* zero, double* one) {
    std::size_t k = 0;
    for (; k + kLanes <= count; k += kLanes) log_conditional(load(z + k), zero + k, one + k);
    if (k < count) log_conditional(load_some(z + k, count - k), zero + k, one + k);
}

LABELWEAVE_KERNEL void conditionals(const double* z, std::size_t count, double* zero, double* one) {
    std::size_t k = 0;
    for (; k + kLanes <= count; k += kLanes) conditional(load(z + k), zero + k, one + k);
    if (k < count) conditional(load_some(z + k, count - k), zero + k, one + k);
}

}  // namespace labelweave
