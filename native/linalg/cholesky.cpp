#include "linalg/cholesky.hpp"

#include <algorithm>
#include <cmath>

#include "simd/lane_floats.hpp"

namespace labelweave::linalg {
namespace {

constexpr std::size_t kGroup = 8;
constexpr float kLeastPivot = 1e-6f;

// work = S r, scaled by its largest entry into the range of single precision.
LABELWEAVE_INLINE void narrow(const CholeskyFactor& factor, std::size_t order, const Lanes* r, float* work,
                              Lanes& largest) {
    largest = broadcast(1e-300);
    for (std::size_t i = 0; i < order; ++i) {
        const Lanes size = abs(factor.scale[i] * r[i]);
        largest = select(size > largest, size, largest);
    }
    for (std::size_t i = 0; i < order; ++i) store_narrow(work + i * kLanes, factor.scale[i] * r[i] / largest);
}

// work = L^-1 work for eight right-hand sides. Rows are taken in groups: within a group one after the other,
// against all others together, so that what is read of `work` serves the whole group.
LABELWEAVE_INLINE void substitute(const float* l, std::size_t order, float* work) {
    for (std::size_t first = 0; first < order; first += kGroup) {
        const std::size_t n = std::min(kGroup, order - first);
        LaneFloats sums[kGroup]{};
        const float* row[kGroup];
        for (std::size_t i = 0; i < kGroup; ++i) row[i] = l + packed(first + std::min(i, n - 1), 0);
        for (std::size_t j = 0; j < first; ++j) {
            const LaneFloats w = LaneFloats::load(work + j * kLanes);
            for (std::size_t i = 0; i < kGroup; ++i) sums[i] += row[i][j] * w;
        }
        for (std::size_t i = 0; i < n; ++i) {
            LaneFloats value = LaneFloats::load(work + (first + i) * kLanes) - sums[i];
            for (std::size_t j = 0; j < i; ++j)
                value -= row[i][first + j] * LaneFloats::load(work + (first + j) * kLanes);
            (value * (1.0f / row[i][first + i])).store(work + (first + i) * kLanes);
        }
    }
}

}  // namespace

// Eight rows at a time are solved against the rows above them; their own triangle remains.
LABELWEAVE_KERNEL void factorise(float* matrix, std::size_t order) {
    std::vector<float> work(order * kLanes);
    for (std::size_t first = 0; first < order; first += kLanes) {
        const std::size_t n = std::min<std::size_t>(kLanes, order - first);
        for (std::size_t i = 0; i < kLanes; ++i) {
            const float* row = matrix + packed(first + std::min(i, n - 1), 0);
            for (std::size_t j = 0; j < first; ++j) work[j * kLanes + i] = row[j];
        }
        substitute(matrix, first, work.data());
        float triangle[kLanes][kLanes]{};  // the amount that the rows above subtract
        for (std::size_t j = 0; j < first; ++j)
            for (std::size_t i = 0; i < kLanes; ++i)
                for (std::size_t k = 0; k < kLanes; ++k) triangle[i][k] += work[j * kLanes + i] * work[j * kLanes + k];
        for (std::size_t i = 0; i < n; ++i) {
            float* row = matrix + packed(first + i, 0);
            for (std::size_t j = 0; j < first; ++j) row[j] = work[j * kLanes + i];
            for (std::size_t j = 0; j <= i; ++j) {
                float rest = row[first + j] - triangle[i][j];
                const float* other = matrix + packed(first + j, first);
                for (std::size_t k = 0; k < j; ++k) rest -= row[first + k] * other[k];
                row[first + j] = j < i ? rest / other[j] : std::sqrt(std::max(rest, kLeastPivot));
            }
        }
    }
}

LABELWEAVE_KERNEL void factored_squares(const CholeskyFactor& factor, std::size_t order, const Lanes* r, float* work,
                                        Lanes& squares) {
    Lanes largest, total{};
    narrow(factor, order, r, work, largest);
    substitute(factor.lower.data(), order, work);
    for (std::size_t i = 0; i < order; ++i) {
        const Lanes part = widen(LaneFloats::load(work + i * kLanes));
        total += part * part;
    }
    squares = total * largest * largest;
}

LABELWEAVE_KERNEL void solve_factored(const CholeskyFactor& factor, std::size_t order, const Lanes* r, float* work,
                                      Lanes* solution) {
    const float* l = factor.lower.data();
    Lanes largest;
    narrow(factor, order, r, work, largest);
    substitute(l, order, work);
    for (std::size_t end = order; end > 0;) {
        const std::size_t n = std::min(kGroup, end), first = end - n;
        LaneFloats values[kGroup]{};
        const float* row[kGroup];
        for (std::size_t i = 0; i < kGroup; ++i) row[i] = l + packed(first + std::min(i, n - 1), 0);
        for (std::size_t i = n; i-- > 0;) {
            LaneFloats value = LaneFloats::load(work + (first + i) * kLanes);
            for (std::size_t j = i + 1; j < n; ++j) value -= row[j][first + i] * values[j];
            values[i] = value * (1.0f / row[i][first + i]);
            solution[first + i] = widen(values[i]) * largest * factor.scale[first + i];
        }
        for (std::size_t j = 0; j < first; ++j) {
            LaneFloats w = LaneFloats::load(work + j * kLanes);
            for (std::size_t i = 0; i < kGroup; ++i) w -= row[i][j] * values[i];
            w.store(work + j * kLanes);
        }
        end = first;
    }
}

}  // namespace labelweave::linalg
