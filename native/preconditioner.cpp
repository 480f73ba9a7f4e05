#include "preconditioner.hpp"

#include <algorithm>
#include <cmath>

#include "parallel.hpp"

namespace labelweave {
namespace {

// Beyond this order a factor no longer fits the cache and costs more than the passes it saves.
constexpr std::size_t kLargestOrder = 1024;
constexpr std::size_t kTileRows = 8, kTileColumns = 2 * kLanes;
constexpr std::size_t kRowsPerFeature = 16, kLeastRows = 2048;

constexpr std::size_t packed(std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; }

// Add the rows' part of X'X to the tile at (i0, j0). Reads up to kTileColumns values past a row's end.
LABELWEAVE_KERNEL void gram_tile(const double* const* rows, std::size_t n_rows, std::size_t n_features, std::size_t i0,
                                 std::size_t j0, double scale, float* gram) {
    Lanes left[kTileRows]{}, right[kTileRows]{};
    for (std::size_t row = 0; row < n_rows; ++row) {
        const double* values = rows[row];
        const Lanes a = load(values + j0), b = load(values + j0 + kLanes);
        for (std::size_t i = 0; i < kTileRows; ++i) {
            left[i] += values[i0 + i] * a;
            right[i] += values[i0 + i] * b;
        }
    }
    for (std::size_t i = i0; i < std::min(i0 + kTileRows, n_features); ++i)
        for (std::size_t j = j0; j < std::min(j0 + kTileColumns, i + 1); ++j) {
            const double entry = j < j0 + kLanes ? left[i - i0][j - j0] : right[i - i0][j - j0 - kLanes];
            gram[packed(i, j)] = static_cast<float>(scale * entry);
        }
}

// Packed A'A of A = [X | 1], estimated from evenly spaced rows.
std::vector<float> gram_matrix(const Design& design, int n_threads) {
    const std::size_t d = design.n_features, n = design.n_rows;
    const std::size_t n_sample = std::min(n, kRowsPerFeature * d + kLeastRows);
    const double scale = static_cast<double>(n) / static_cast<double>(n_sample);
    std::vector<const double*> rows(n_sample);
    for (std::size_t k = 0; k < n_sample; ++k) rows[k] = design.dense + k * n / n_sample * d;
    // Rows near the end of X are copied with room behind them, so that a tile may read past a row.
    const double* safe_end = design.dense + n * d - std::min(n * d, d + kTileColumns);
    const std::size_t n_safe = std::upper_bound(rows.begin(), rows.end(), safe_end) - rows.begin();
    const std::size_t stride = d + kTileColumns;
    std::vector<double> copies((n_sample - n_safe) * stride, 0.0);
    for (std::size_t k = n_safe; k < n_sample; ++k) {
        double* copy = copies.data() + (k - n_safe) * stride;
        rows[k] = std::copy_n(rows[k], d, copy) - d;
    }

    std::vector<float> gram(packed(d + 1, 0), 0.0f);
    parallel_for((d + kTileRows - 1) / kTileRows, n_threads, [&](std::size_t tile) {
        const std::size_t i0 = tile * kTileRows;
        for (std::size_t j0 = 0; j0 < i0 + kTileRows; j0 += kTileColumns)
            gram_tile(rows.data(), n_sample, d, i0, j0, scale, gram.data());
    });
    std::vector<double> sums(d, 0.0);
    for (const double* row : rows)
        for (std::size_t f = 0; f < d; ++f) sums[f] += row[f];
    for (std::size_t f = 0; f < d; ++f) gram[packed(d, f)] = static_cast<float>(scale * sums[f]);
    gram[packed(d, d)] = static_cast<float>(n);
    return gram;
}

using LaneFloats = float __attribute__((vector_size(32)));

LABELWEAVE_INLINE Lanes load_floats(const float* from) {
    LaneFloats floats;
    std::memcpy(&floats, from, sizeof floats);
    return __builtin_convertvector(floats, Lanes);
}

// In-place Cholesky factor of a packed matrix. Directions without curvature get a small pivot.
LABELWEAVE_KERNEL void factorise(float* a, std::size_t order) {
    for (std::size_t i = 0; i < order; ++i) {
        float* row = a + packed(i, 0);
        const double floor = 1e-6 * row[i] + 1e-30;
        for (std::size_t j = 0; j <= i; ++j) {
            const float* other = a + packed(j, 0);
            Lanes even{}, odd{};
            std::size_t k = 0;
            for (; k + 2 * kLanes <= j; k += 2 * kLanes) {
                even += load_floats(row + k) * load_floats(other + k);
                odd += load_floats(row + k + kLanes) * load_floats(other + k + kLanes);
            }
            double rest = row[j] - sum(even + odd);
            for (; k < j; ++k) rest -= static_cast<double>(row[k]) * other[k];
            row[j] = static_cast<float>(j < i ? rest / other[j] : std::sqrt(std::max(rest, floor)));
        }
    }
}

}  // namespace

Preconditioner::Preconditioner(const Design& design, int n_threads)
    : order_(design.n_features + 1), squares_(design.width()) {
    column_squares(design, squares_.data());
    if (design.dense && order_ <= std::min(kLargestOrder, design.n_rows)) gram_ = gram_matrix(design, n_threads);
}

int Preconditioner::level(double ridge) {
    return static_cast<int>(std::lround(std::log2(std::clamp(ridge, 1e-30, 1e30)) / 2.0));
}

const Factor& Preconditioner::factor(double ridge) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [entry, fresh] = factors_.try_emplace(level(ridge));
    if (fresh) {
        entry->second = gram_;
        for (std::size_t i = 0; i + 1 < order_; ++i) entry->second[packed(i, i)] += static_cast<float>(std::exp2(2.0 * level(ridge)));
        factorise(entry->second.data(), order_);
    }
    return entry->second;
}

LABELWEAVE_KERNEL void solve_factored(const Factor& factor, std::size_t order, const Lanes* r, Lanes* solution) {
    for (std::size_t i = 0; i < order; ++i) {
        const float* row = factor.data() + packed(i, 0);
        Lanes sums[4] = {r[i], Lanes{}, Lanes{}, Lanes{}};
        std::size_t j = 0;
        for (; j + 4 <= i; j += 4)
            for (int k = 0; k < 4; ++k) sums[k] -= static_cast<double>(row[j + k]) * solution[j + k];
        for (; j < i; ++j) sums[0] -= static_cast<double>(row[j]) * solution[j];
        solution[i] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) * (1.0 / row[i]);
    }
    for (std::size_t i = order; i-- > 0;) {
        const float* row = factor.data() + packed(i, 0);
        const Lanes value = solution[i] * (1.0 / row[i]);
        solution[i] = value;
        for (std::size_t j = 0; j < i; ++j) solution[j] -= static_cast<double>(row[j]) * value;
    }
}

}  // namespace labelweave
