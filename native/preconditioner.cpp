#include "preconditioner.hpp"

#include <algorithm>
#include <cmath>

namespace labelweave {
namespace {

// Beyond this order a factor no longer fits the cache and costs more than the passes it saves.
constexpr std::size_t kLargestOrder = 1024;
constexpr std::size_t kRowBlock = 128;
constexpr std::size_t kRowsPerFeature = 16, kLeastRows = 2048;
constexpr double kLeastSquare = 1e-290;

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

}  // namespace labelweave
