#include "preconditioner.hpp"

#include <algorithm>
#include <cmath>

namespace labelweave {
namespace {

// Beyond this order a factor no longer fits the cache and costs more than the passes it saves.
constexpr std::size_t kLargestOrder = 1024;
constexpr std::size_t kTileRows = 8, kTileColumns = 2 * kLanes, kRowBlock = 128, kGroup = 8;
constexpr std::size_t kRowsPerFeature = 16, kLeastRows = 2048;
constexpr double kLeastPivot = 1e-6, kLeastSquare = 1e-290;

constexpr std::size_t packed(std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; }

// Add the rows' part of X'X to the tile at (i0, j0), divided by the lengths of its columns. Reads up to
// kTileColumns values past a row's end.
LABELWEAVE_KERNEL void correlate_tile(const double* const* rows, std::size_t n_rows, std::size_t i0, std::size_t j0,
                                      const std::vector<double>& inverse_lengths, float* correlations) {
    Lanes left[kTileRows]{}, right[kTileRows]{};
    for (std::size_t row = 0; row < n_rows; ++row) {
        const double* values = rows[row];
        const Lanes a = load(values + j0), b = load(values + j0 + kLanes);
        for (std::size_t i = 0; i < kTileRows; ++i) {
            left[i] += values[i0 + i] * a;
            right[i] += values[i0 + i] * b;
        }
    }
    for (std::size_t i = i0; i < std::min(i0 + kTileRows, inverse_lengths.size()); ++i)
        for (std::size_t j = j0; j < std::min(j0 + kTileColumns, i); ++j) {
            const double entry = j < j0 + kLanes ? left[i - i0][j - j0] : right[i - i0][j - j0 - kLanes];
            const double lengths = inverse_lengths[i] * inverse_lengths[j];
            if (lengths > 0) correlations[packed(i, j)] += static_cast<float>(entry * lengths);
        }
}

// Evenly spaced rows of a dense X. A tile reads past a row's end, so the rows close to the end of X are
// copied with room behind them.
class RowSample {
  public:
    explicit RowSample(const Design& design) {
        const std::size_t d = design.n_features, n = design.n_rows;
        const std::size_t n_sample = std::min(n, kRowsPerFeature * d + kLeastRows), stride = d + kTileColumns;
        for (std::size_t k = 0; k < n_sample; ++k) rows_.push_back(design.dense + k * n / n_sample * d);
        const double* end = design.dense + n * d;
        std::size_t n_safe = 0;
        while (n_safe < n_sample && static_cast<std::size_t>(end - rows_[n_safe]) >= stride) ++n_safe;
        copies_.resize((n_sample - n_safe) * stride);
        for (std::size_t k = n_safe; k < n_sample; ++k) {
            double* copy = copies_.data() + (k - n_safe) * stride;
            rows_[k] = std::copy_n(rows_[k], d, copy) - d;
        }
    }
    std::size_t size() const { return rows_.size(); }
    const double* const* rows() const { return rows_.data(); }

  private:
    std::vector<const double*> rows_;
    std::vector<double> copies_;
};

typedef float LaneFloats __attribute__((vector_size(32), aligned(16)));

LABELWEAVE_INLINE LaneFloats load_narrow(const float* from) {
    LaneFloats lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

LABELWEAVE_INLINE void store_narrow(float* to, const LaneFloats& lanes) { std::memcpy(to, &lanes, sizeof lanes); }

LABELWEAVE_INLINE Lanes load_floats(const float* from) { return __builtin_convertvector(load_narrow(from), Lanes); }

// In-place Cholesky factor of a packed matrix of unit diagonal. Directions without curvature get a small
// pivot.
LABELWEAVE_KERNEL void factorise(float* a, std::size_t order) {
    for (std::size_t i = 0; i < order; ++i) {
        float* row = a + packed(i, 0);
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
            row[j] = static_cast<float>(j < i ? rest / other[j] : std::sqrt(std::max(rest, kLeastPivot)));
        }
    }
}

}  // namespace

Preconditioner::Preconditioner(const Design& design, Team& team)
    : order_(design.n_features + 1), squares_(design.width()) {
    column_squares(design, squares_.data());
    overflowed_ = std::any_of(squares_.begin(), squares_.end(), [](double s) { return !(s < kLargestSquare); });
    if (design.dense && order_ <= std::min(kLargestOrder, design.n_rows)) correlate(design, team);
}

void Preconditioner::correlate(const Design& design, Team& team) {
    const std::size_t d = design.n_features;
    const RowSample sample(design);
    const auto n_sample = static_cast<double>(sample.size());
    std::vector<double> squares(d, 0.0), sums(d, 0.0), inverse_lengths(d);
    for (std::size_t k = 0; k < sample.size(); ++k)
        for (std::size_t f = 0; f < d; ++f) {
            const double value = sample.rows()[k][f];
            squares[f] += value * value;
            sums[f] += value;
        }
    norms_.resize(order_, std::sqrt(static_cast<double>(design.n_rows)));
    for (std::size_t f = 0; f < d; ++f) {
        const double length = std::sqrt(std::min(squares[f], kLargestSquare));
        const bool measurable = squares[f] > kLeastSquare && squares[f] < kLargestSquare;
        inverse_lengths[f] = measurable ? 1.0 / length : 0.0;
        norms_[f] = length * std::sqrt(static_cast<double>(design.n_rows) / n_sample);
    }
    correlations_.assign(packed(order_, 0), 0.0f);
    // Every task goes through the rows once, block by block, for its share of the tiles.
    const std::size_t n_tile_rows = (d + kTileRows - 1) / kTileRows;
    constexpr std::uint32_t n_tasks = 8;
    team.run(n_tasks, [&](std::size_t task) {
        for (std::size_t begin = 0; begin < sample.size(); begin += kRowBlock)
            for (std::size_t tile = task; tile < n_tile_rows; tile += n_tasks)
                for (std::size_t j0 = 0; j0 < (tile + 1) * kTileRows; j0 += kTileColumns)
                    correlate_tile(sample.rows() + begin, std::min(kRowBlock, sample.size() - begin),
                                   tile * kTileRows, j0, inverse_lengths, correlations_.data());
    });
    for (std::size_t f = 0; f < d; ++f)
        correlations_[packed(d, f)] = static_cast<float>(sums[f] * inverse_lengths[f] / std::sqrt(n_sample));
}

int Preconditioner::level(double ridge) {
    return static_cast<int>(std::lround(std::log2(std::clamp(ridge, 1e-300, 1e300)) / 2.0));
}

const Factor& Preconditioner::factor(int level) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [entry, fresh] = factors_.try_emplace(level);
    Factor& factor = entry->second;
    if (!fresh) return factor;
    factor.lower = correlations_;
    std::vector<double> share(order_);  // of a column's length in the diagonal's root
    for (std::size_t i = 0; i < order_; ++i) {
        const double root = std::hypot(norms_[i], i + 1 < order_ ? std::exp2(level) : 0.0);
        factor.scale.push_back(1.0 / root);
        share[i] = norms_[i] / root;
        for (std::size_t j = 0; j < i; ++j) factor.lower[packed(i, j)] *= static_cast<float>(share[i] * share[j]);
        factor.lower[packed(i, i)] = 1.0f;
    }
    factorise(factor.lower.data(), order_);
    return factor;
}

// Rows are taken in groups: within a group one after the other, against all others together, so that
// what is read of `work` serves the whole group.
LABELWEAVE_KERNEL void solve_factored(const Factor& factor, std::size_t order, const Lanes* r, float* work,
                                      Lanes* solution) {
    const float* l = factor.lower.data();
    // Residuals are scaled into the range of single precision, and back.
    Lanes largest = broadcast(1e-300);
    for (std::size_t i = 0; i < order; ++i) {
        const Lanes size = abs(factor.scale[i] * r[i]);
        largest = select(size > largest, size, largest);
    }
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
            const Lanes scaled = factor.scale[first + i] * r[first + i] / largest;
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
            solution[first + i] = __builtin_convertvector(values[i], Lanes) * largest * factor.scale[first + i];
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
