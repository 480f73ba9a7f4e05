#include "preconditioner.hpp"

#include <algorithm>
#include <cmath>

#include "parallel.hpp"

namespace labelweave {
namespace {

// Beyond this order a factor no longer fits the cache and costs more than the passes it saves.
constexpr std::size_t kLargestOrder = 1024;
constexpr std::size_t kTileRows = 8, kTileColumns = 2 * kLanes, kRowBlock = 128;

constexpr std::size_t packed(std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; }

LABELWEAVE_INLINE Lanes load(const double* from) {
    Lanes lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

LABELWEAVE_INLINE double sum(Lanes lanes) {
    double total = 0.0;
    for (int lane = 0; lane < kLanes; ++lane) total += lanes[lane];
    return total;
}

// Add the rows' part of X'X to the tile at (i0, j0). Reads up to kTileColumns values past a row's end.
LABELWEAVE_KERNEL void gram_tile(const double* rows, std::size_t n_rows, std::size_t stride, std::size_t n_features,
                                 std::size_t i0, std::size_t j0, double* gram) {
    Lanes left[kTileRows]{}, right[kTileRows]{};
    for (std::size_t row = 0; row < n_rows; ++row) {
        const double* values = rows + row * stride;
        const Lanes a = load(values + j0), b = load(values + j0 + kLanes);
        for (std::size_t i = 0; i < kTileRows; ++i) {
            left[i] += values[i0 + i] * a;
            right[i] += values[i0 + i] * b;
        }
    }
    for (std::size_t i = i0; i < std::min(i0 + kTileRows, n_features); ++i)
        for (std::size_t j = j0; j < std::min(j0 + kTileColumns, i + 1); ++j)
            gram[packed(i, j)] += j < j0 + kLanes ? left[i - i0][j - j0] : right[i - i0][j - j0 - kLanes];
}

// Packed A'A of A = [X | 1].
std::vector<double> gram_matrix(const Design& design, int n_threads) {
    const std::size_t d = design.n_features, n = design.n_rows;
    std::vector<double> gram(packed(d + 1, 0), 0.0);
    // The last rows are copied with room behind them, so that a tile may read past the end.
    const std::size_t n_tail = std::min(n, kTileColumns / std::max<std::size_t>(1, d) + 2);
    const std::size_t n_body = n - n_tail, stride = d + kTileColumns;
    std::vector<double> tail(n_tail * stride + kTileColumns, 0.0);
    for (std::size_t row = 0; row < n_tail; ++row)
        std::copy_n(design.dense + (n_body + row) * d, d, tail.begin() + row * stride);

    parallel_for((d + kTileRows - 1) / kTileRows, n_threads, [&](std::size_t tile) {
        const std::size_t i0 = tile * kTileRows;
        for (std::size_t j0 = 0; j0 < i0 + kTileRows; j0 += kTileColumns) {
            for (std::size_t begin = 0; begin < n_body; begin += kRowBlock)
                gram_tile(design.dense + begin * d, std::min(kRowBlock, n_body - begin), d, d, i0, j0, gram.data());
            gram_tile(tail.data(), n_tail, stride, d, i0, j0, gram.data());
        }
    });
    double* sums = gram.data() + packed(d, 0);
    for (std::size_t row = 0; row < n; ++row)
        for (std::size_t f = 0; f < d; ++f) sums[f] += design.dense[row * d + f];
    sums[d] = static_cast<double>(n);
    return gram;
}

// In-place Cholesky factor of a packed matrix. Directions without curvature get a tiny pivot.
LABELWEAVE_KERNEL void factorise(double* a, std::size_t order) {
    for (std::size_t i = 0; i < order; ++i) {
        double* row = a + packed(i, 0);
        const double floor = 1e-12 * row[i] + 1e-300;
        for (std::size_t j = 0; j <= i; ++j) {
            const double* other = a + packed(j, 0);
            Lanes even{}, odd{};
            std::size_t k = 0;
            for (; k + 2 * kLanes <= j; k += 2 * kLanes) {
                even += load(row + k) * load(other + k);
                odd += load(row + k + kLanes) * load(other + k + kLanes);
            }
            double dot = sum(even + odd);
            for (; k < j; ++k) dot += row[k] * other[k];
            row[j] = j < i ? (row[j] - dot) / other[j] : std::sqrt(std::max(row[j] - dot, floor));
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
    return static_cast<int>(std::lround(std::log2(std::clamp(ridge, 1e-100, 1e100)) / 2.0));
}

const Factor& Preconditioner::factor(double ridge) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [entry, fresh] = factors_.try_emplace(level(ridge));
    if (fresh) {
        entry->second = gram_;
        for (std::size_t i = 0; i + 1 < order_; ++i) entry->second[packed(i, i)] += std::exp2(2.0 * level(ridge));
        factorise(entry->second.data(), order_);
    }
    return entry->second;
}

LABELWEAVE_KERNEL void solve_factored(const Factor& factor, std::size_t order, const Lanes* r, Lanes* solution) {
    for (std::size_t i = 0; i < order; ++i) {
        const double* row = factor.data() + packed(i, 0);
        Lanes sums[4] = {r[i], Lanes{}, Lanes{}, Lanes{}};
        std::size_t j = 0;
        for (; j + 4 <= i; j += 4)
            for (int k = 0; k < 4; ++k) sums[k] -= row[j + k] * solution[j + k];
        for (; j < i; ++j) sums[0] -= row[j] * solution[j];
        solution[i] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) / row[i];
    }
    for (std::size_t i = order; i-- > 0;) {
        const double* row = factor.data() + packed(i, 0);
        const Lanes value = solution[i] / row[i];
        solution[i] = value;
        for (std::size_t j = 0; j < i; ++j) solution[j] -= row[j] * value;
    }
}

}  // namespace labelweave
