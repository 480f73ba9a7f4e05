#include "logistic/preconditioner.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/gram.hpp"

namespace labelweave::logistic {
namespace {

// Beyond this order a factor no longer fits the cache and costs more than the passes it saves.
constexpr std::size_t kLargestOrder = 1024;
constexpr std::size_t kRowsPerFeature = 16, kLeastRows = 2048;
constexpr double kLeastSquare = 1e-290;

// Evenly spaced rows of a dense X.
std::vector<const double*> sample_rows(const design::Design& design) {
    const std::size_t d = design.n_features, n = design.n_rows;
    std::vector<const double*> rows(std::min(n, kRowsPerFeature * d + kLeastRows));
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = design.dense + k * n / rows.size() * d;
    return rows;
}

}  // namespace

Preconditioner::Preconditioner(const design::Design& design, threads::ThreadTeam& team)
    : order_(design.n_features + 1), squares_(design.width()) {
    design::column_squares(design, squares_.data());
    overflowed_ = std::any_of(squares_.begin(), squares_.end(), [](double s) { return !(s < design::kLargestSquare); });
    if (design.dense && order_ <= std::min(kLargestOrder, design.n_rows)) correlate(design, team);
}

void Preconditioner::correlate(const design::Design& design, threads::ThreadTeam& team) {
    const std::size_t d = design.n_features;
    const std::vector<const double*> rows = sample_rows(design);
    const auto n_sample = static_cast<double>(rows.size());
    std::vector<double> squares(d, 0.0), sums(d, 0.0), inverse_lengths(d);
    for (const double* row : rows)
        for (std::size_t f = 0; f < d; ++f) {
            squares[f] += row[f] * row[f];
            sums[f] += row[f];
        }
    norms_.resize(order_, std::sqrt(static_cast<double>(design.n_rows)));
    for (std::size_t f = 0; f < d; ++f) {
        const double length = std::sqrt(std::min(squares[f], design::kLargestSquare));
        const bool measurable = squares[f] > kLeastSquare && squares[f] < design::kLargestSquare;
        inverse_lengths[f] = measurable ? 1.0 / length : 0.0;
        norms_[f] = length * std::sqrt(static_cast<double>(design.n_rows) / n_sample);
    }
    correlations_.assign(linalg::packed(order_, 0), 0.0f);
    linalg::GramBlock block(d);
    constexpr std::uint32_t n_tasks = 8;
    for (std::size_t begin = 0; begin < rows.size(); begin += linalg::GramBlock::kRows) {
        block.read(std::min(linalg::GramBlock::kRows, rows.size() - begin), [&](std::size_t row) {
            return [x = rows[begin + row], scale = inverse_lengths.data()](std::size_t f) { return x[f] * scale[f]; };
        });
        team.run(n_tasks, [&](std::size_t task) {
            for (std::size_t t = task; t < block.n_tile_rows(); t += n_tasks)
                block.add_tile_row(t, correlations_.data());
        });
    }
    for (std::size_t f = 0; f < d; ++f)
        correlations_[linalg::packed(d, f)] = static_cast<float>(sums[f] * inverse_lengths[f] / std::sqrt(n_sample));
}

int Preconditioner::level(double ridge) {
    return static_cast<int>(std::lround(std::log2(std::clamp(ridge, 1e-300, 1e300)) / 2.0));
}

const linalg::CholeskyFactor& Preconditioner::factor(int level) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [entry, fresh] = factors_.try_emplace(level);
    linalg::CholeskyFactor& factor = entry->second;
    if (!fresh) return factor;
    factor.lower = correlations_;
    std::vector<double> share(order_);  // of a column's length in the diagonal's root
    for (std::size_t i = 0; i < order_; ++i) {
        const double root = std::hypot(norms_[i], i + 1 < order_ ? std::exp2(level) : 0.0);
        factor.scale.push_back(1.0 / root);
        share[i] = norms_[i] / root;
        for (std::size_t j = 0; j < i; ++j)
            factor.lower[linalg::packed(i, j)] *= static_cast<float>(share[i] * share[j]);
        factor.lower[linalg::packed(i, i)] = 1.0f;
    }
    linalg::factorise(factor.lower.data(), order_);
    return factor;
}

}  // namespace labelweave::logistic
