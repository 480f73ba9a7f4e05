#include "online/predict.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "online/prepared_rows.hpp"
#include "random/normal_lanes.hpp"
#include "threads/parallel.hpp"

namespace labelweave::online {
namespace {

constexpr std::size_t kRowBlock = 128;
// Rows whose scores are summed at a time under one draw: 16 labels of them stay in the second-level cache.
constexpr std::size_t kSampledRows = 4096;
// The row of random numbers that no feature has.
constexpr std::uint64_t kBiasRow = ~std::uint64_t{0};

// The entries of prepared rows by feature, in increasing order of features and, within one, of rows.
struct Columns {
    std::vector<std::size_t> entry;
    std::vector<std::uint32_t> row;

    explicit Columns(const PreparedRows& rows) : entry(rows.feature.size()), row(rows.feature.size()) {
        for (std::size_t r = 0; r < rows.size(); ++r)
            std::fill(row.begin() + static_cast<std::ptrdiff_t>(rows.start[r]),
                      row.begin() + static_cast<std::ptrdiff_t>(rows.start[r + 1]), static_cast<std::uint32_t>(r));
        std::iota(entry.begin(), entry.end(), std::size_t{0});
        std::stable_sort(entry.begin(), entry.end(),
                         [&](std::size_t a, std::size_t b) { return rows.feature[a] < rows.feature[b]; });
    }
};

// One draw of the weights of a feature for eight labels.
LABELWEAVE_INLINE Lanes drawn_weights(const float* mean, const float* variance, double retention, double prior,
                                      const Lanes& normal) {
    double m[kLanes], v[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
        m[lane] = mean[lane];
        v[lane] = variance[lane];
    }
    Lanes spread = load(v);
    if (retention < 1.0) spread = prior * spread / (spread + retention * (prior - spread));
    return load(m) + square_root(spread) * normal;
}

// Scores, in units of their row's scale, of eight labels under one draw, for all prepared rows. Sums run over features
// in increasing order whatever rows are asked about together.
LABELWEAVE_KERNEL void sampled_scores(const Model& model, const PreparedRows& rows, const Columns& columns,
                                      double prior, std::uint64_t seed, std::uint32_t sample, std::size_t label,
                                      Lanes* scores) {
    const Panel& panel = *std::find_if(model.panels.begin(), model.panels.end(),
                                       [&](const Panel& each) { return label < each.last * kBlock; });
    std::int64_t drawn = -1;
    Lanes weights{};
    for (std::size_t k = 0; k < columns.entry.size(); ++k) {
        const std::size_t entry = columns.entry[k];
        const std::int32_t feature = rows.feature[entry];
        if (feature != drawn) {
            const float* of = panel.of(feature) + label - panel.first * kBlock;
            const double retention = rows.retention.empty() ? 1.0 : rows.retention[entry];
            weights = drawn_weights(of, of + panel.width, retention, prior,
                                    random::normal_lanes(seed, static_cast<std::uint64_t>(feature), sample,
                                                         static_cast<std::uint32_t>(label)));
            drawn = feature;
        }
        scores[columns.row[entry]] += weights * static_cast<double>(rows.value[entry]);
    }
}

LABELWEAVE_KERNEL void bias_noise(std::uint64_t seed, std::uint32_t sample, std::uint32_t label, double* out) {
    store(out, random::normal_lanes(seed, kBiasRow, sample, label));
}

}  // namespace

void moments(const Model& model, const Settings& settings, const Rows& rows, double* mean, double* variance,
             int n_threads, threads::Interrupt& interrupt) {
    const std::size_t n_blocks = label_blocks(model);
    const auto prior = static_cast<float>(settings.prior_variance);
    threads::parallel_rows(rows.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        interrupt.check();
        PreparedRows prepared;
        prepare(model, settings, rows, begin, end, Clock::predicting, prepared);
        LaneArray m(2 * n_blocks), v(2 * n_blocks);
        for (std::size_t row = begin; row < end; ++row) {
            gather_moments(model, prepared, row - begin, prior, 0, n_blocks, m.data(), v.data());
            std::copy_n(reinterpret_cast<const double*>(m.data()), model.n_labels, mean + row * model.n_labels);
            std::copy_n(reinterpret_cast<const double*>(v.data()), model.n_labels, variance + row * model.n_labels);
        }
    });
}

void samples(const Model& model, const Settings& settings, const Rows& rows, std::uint64_t seed, std::size_t n_samples,
             std::int8_t* above, int n_threads, threads::Interrupt& interrupt) {
    const std::size_t n_groups = (model.n_labels + kLanes - 1) / kLanes;
    for (std::size_t begin = 0; begin < rows.n_rows; begin += kSampledRows) {
        const std::size_t end = std::min(rows.n_rows, begin + kSampledRows);
        PreparedRows prepared;
        prepare(model, settings, rows, begin, end, Clock::predicting, prepared);
        const Columns columns(prepared);
        threads::parallel_for(n_samples * n_groups, n_threads, [&](std::size_t task) {
            interrupt.check();
            const auto sample = static_cast<std::uint32_t>(task / n_groups);
            const std::size_t label = task % n_groups * kLanes;
            LaneArray scores(end - begin);
            sampled_scores(model, prepared, columns, settings.prior_variance, seed, sample, label, scores.data());
            double noise[kLanes];
            bias_noise(seed, sample, settings.coupled ? 0 : static_cast<std::uint32_t>(label), noise);
            for (std::size_t c = label; c < std::min(model.n_labels, label + kLanes); ++c) {
                const std::size_t own = settings.coupled ? 0 : c;
                const double bias = model.bias_mean[own] +
                                    std::sqrt(model.bias_variance[own]) * noise[settings.coupled ? 0 : c - label];
                std::int8_t* out = above + sample * rows.n_rows * model.n_labels + c;
                for (std::size_t r = begin; r < end; ++r)
                    out[r * model.n_labels] = scores[r - begin][c - label] * prepared.scale[r - begin] > bias;
            }
        });
    }
}

}  // namespace labelweave::online
