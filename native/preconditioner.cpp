#include "preconditioner.hpp"

#include <algorithm>
#include <cmath>

#include "parallel.hpp"

namespace labelweave {
namespace {

// Beyond this order a factor no longer fits the cache and costs more than the passes it saves.
constexpr std::size_t kLargestOrder = 1024;
constexpr std::size_t kTileRows = 8, kTileColumns = 2 * kLanes, kRowBlock = 128, kGroup = 8;
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
            gram[packed(i, j)] += static_cast<float>(scale * entry);
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
    // Every task goes through the rows once, block by block, for its share of the tiles.
    const std::size_t n_tile_rows = (d + kTileRows - 1) / kTileRows;
    const auto n_tasks = static_cast<std::size_t>(resolve_threads(n_threads));
    parallel_for(n_tasks, n_threads, [&](std::size_t task) {
        for (std::size_t begin = 0; begin < n_sample; begin += kRowBlock)
            for (std::size_t tile = task; tile < n_tile_rows; tile += n_tasks)
                for (std::size_t j0 = 0; j0 < (tile + 1) * kTileRows; j0 += kTileColumns)
                    gram_tile(rows.data() + begin, std::min(kRowBlock, n_sample - begin), d, tile * kTileRows, j0, scale,
                              gram.data());
    });
    std::vector<double> sums(d, 0.0);
    for (const double* row : rows)
        for (std::size_t f = 0; f < d; ++f) sums[f] += row[f];
    for (std::size_t f = 0; f < d; ++f) gram[packed(d, f)] = static_cast<float>(scale * sums[f]);
    gram[packed(d, d)] = static_cast<float>(n);
    return gram;
}

typedef float LaneFloats __attribute__((vector_size(32), aligned(16)));

LABELWEAVE_INLINE LaneFloats load_narrow(const float* from) {
    LaneFloats lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

LABELWEAVE_INLINE void store_narrow(float* to, const LaneFloats& lanes) { std::memcpy(to, &lanes, sizeof lanes); }

LABELWEAVE_INLINE Lanes load_floats(const float* from) { return __builtin_convertvector(load_narrow(from), Lanes); }

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
    if (!design.dense || order_ > std::min(kLargestOrder, design.n_rows)) return;
    gram_ = gram_matrix(design, n_threads);
    // Features of extreme scale leave the range of single precision.
    const auto usable = [](float entry) { return std::isfinite(entry) && std::fabs(entry) < 1e30f; };
    if (!std::all_of(gram_.begin(), gram_.end(), usable)) gram_.clear();
}

int Preconditioner::level(double ridge) {
    return static_cast<int>(std::lround(std::log2(std::clamp(ridge, 1e-30, 1e30)) / 2.0));
}

const Factor& Preconditioner::factor(int level) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [entry, fresh] = factors_.try_emplace(level);
    if (fresh) {
        entry->second = gram_;
        const auto ridge = static_cast<float>(std::exp2(2.0 * level));
        for (std::size_t i = 0; i + 1 < order_; ++i) entry->second[packed(i, i)] += ridge;
        factorise(entry->second.data(), order_);
    }
    return entry->second;
}

// Rows are taken in groups: within a group one after the other, against all others together, so that
// what is read of `work` serves the whole group.
LABELWEAVE_KERNEL void solve_factored(const Factor& factor, std::size_t order, const Lanes* r, float* work,
                                      Lanes* solution) {
    const float* l = factor.data();
    // Residuals are scaled into the range of single precision, and back.
    Lanes largest = broadcast(1e-300);
    for (std::size_t i = 0; i < order; ++i) largest = select(abs(r[i]) > largest, abs(r[i]), largest);
    for (std::size_t first = 0; first < order; first += kGroup) {
        const std::size_t n = std::min(kGroup, order - first);
        LaneFloats sums[kGroup]{};
        const float* row[kGroup];
        for (std::size_t i = 0; i < kGroup; ++i) row[i] = l + packed(first + std::min(i, n - 1), 0);
        for (std::size_t j = 0; j < first; ++j) {
            const LaneFloats w = load_narrow(work + j * kLanes);
            for (std::size_t i = 0; i < kGroup; ++i) sums[i] += row[i][j] * w;
        }
        for (std::size_t i = 0; i < n; ++i) {
            const Lanes scaled = r[first + i] / largest;
            LaneFloats value = __builtin_convertvector(scaled, LaneFloats) - sums[i];
            for (std::size_t j = 0; j < i; ++j) value -= row[i][first + j] * load_narrow(work + (first + j) * kLanes);
            store_narrow(work + (first + i) * kLanes, value * (1.0f / row[i][first + i]));
        }
    }
    for (std::size_t end = order; end > 0;) {
        const std::size_t n = std::min(kGroup, end), first = end - n;
        LaneFloats values[kGroup]{};
        const float* row[kGroup];
        for (std::size_t i = 0; i < kGroup; ++i) row[i] = l + packed(first + std::min(i, n - 1), 0);
        for (std::size_t i = n; i-- > 0;) {
            LaneFloats value = load_narrow(work + (first + i) * kLanes);
            for (std::size_t j = i + 1; j < n; ++j) value -= row[j][first + i] * values[j];
            values[i] = value * (1.0f / row[i][first + i]);
            solution[first + i] = __builtin_convertvector(values[i], Lanes) * largest;
        }
        for (std::size_t j = 0; j < first; ++j) {
            LaneFloats w = load_narrow(work + j * kLanes);
            for (std::size_t i = 0; i < kGroup; ++i) w -= row[i][j] * values[i];
            store_narrow(work + j * kLanes, w);
        }
        end = first;
    }
}

}  // namespace labelweave
