#include "online/prepared_rows.hpp"

#include <algorithm>
#include <cmath>

#include "simd/portable_math.hpp"

namespace labelweave::online {
namespace {

// Features beyond 2^400 count as that large: their squares times any variance stay finite.
constexpr int kLargestExponent = 400;
// This many products are summed in float32 before they are added to a double, which limits rounding to one unit.
constexpr std::size_t kFloatTerms = 8;
// Features between the one that is summed and the one that is fetched.
constexpr std::size_t kAhead = 4;

double scale_of(double largest) {
    if (largest == 0.0) return 1.0;
    return std::ldexp(1.0, std::clamp(std::ilogb(largest), -kLargestExponent, kLargestExponent));
}

LABELWEAVE_INLINE void add_to_doubles(WideFloats& sums, Lanes* to) {
    to[0] += widen(sums, 0);
    to[1] += widen(sums, 1);
    sums = WideFloats{};
}

// Sums over the row's features for N blocks of labels, all in registers.
template <int N, bool Forgetting>
LABELWEAVE_INLINE void gather_blocks(const Panel& panel, std::size_t begin, const PreparedRows& rows, std::size_t row,
                                     float prior, Lanes* mean, Lanes* variance) {
    WideFloats m[N]{}, v[N]{};
    const std::size_t end = rows.start[row + 1];
    for (std::size_t k = rows.start[row]; k < end;) {
        const std::size_t stop = std::min(end, k + kFloatTerms);
        for (; k < stop; ++k) {
            const float* of = panel.of(rows.feature[k]) + begin;
            const float x = rows.value[k], square = x * x;
            const float* soon = panel.of(rows.feature[std::min(k + kAhead, end - 1)]) + begin;
            for (int b = 0; b < N; ++b) {
                __builtin_prefetch(soon + b * kBlock);
                __builtin_prefetch(soon + panel.width + b * kBlock);
            }
            for (int b = 0; b < N; ++b) {
                const WideFloats mu = WideFloats::load(of + b * kBlock);
                WideFloats sigma = WideFloats::load(of + panel.width + b * kBlock);
                if (Forgetting) sigma = inflate_variance(sigma, rows.retention[k], prior);
                m[b] += mu * x;
                v[b] += sigma * square;
            }
        }
        for (int b = 0; b < N; ++b) {
            add_to_doubles(m[b], mean + 2 * b);
            add_to_doubles(v[b], variance + 2 * b);
        }
    }
}

// Blocks of labels whose sums of means and variances fit into registers.
constexpr int kMostBlocks = std::clamp(kSums / (2 * WideFloats::kParts), 1, 8);

// Calls gather_blocks for 1 <= n_blocks <= N.
template <int N, bool Forgetting>
LABELWEAVE_INLINE void gather_some(std::size_t n_blocks, const Panel& panel, std::size_t begin,
                                   const PreparedRows& rows, std::size_t row, float prior, Lanes* mean,
                                   Lanes* variance) {
    if constexpr (N > 1)
        if (n_blocks < N)
            return gather_some<N - 1, Forgetting>(n_blocks, panel, begin, rows, row, prior, mean, variance);
    gather_blocks<N, Forgetting>(panel, begin, rows, row, prior, mean, variance);
}

}  // namespace

LABELWEAVE_KERNEL void gather_moments(const Model& model, const PreparedRows& rows, std::size_t row, float prior,
                                      std::size_t first, std::size_t last, Lanes* mean, Lanes* variance) {
    for (std::size_t i = 2 * first; i < 2 * last; ++i) mean[i] = variance[i] = Lanes{};
    visit_panels(model, first, last, [&](const Panel& panel, std::size_t block, std::size_t end) {
        // Parts of about the same size: every one of them goes through all features.
        for (std::size_t n_parts = (end - block + kMostBlocks - 1) / kMostBlocks, n_blocks; block < end;
             block += n_blocks, --n_parts) {
            n_blocks = (end - block + n_parts - 1) / n_parts;
            const std::size_t begin = (block - panel.first) * kBlock;
            Lanes *m = mean + 2 * block, *v = variance + 2 * block;
            if (rows.retention.empty())
                gather_some<kMostBlocks, false>(n_blocks, panel, begin, rows, row, prior, m, v);
            else
                gather_some<kMostBlocks, true>(n_blocks, panel, begin, rows, row, prior, m, v);
        }
    });
    const double scale = rows.scale[row];
    for (std::size_t i = 2 * first; i < 2 * last; ++i) {
        mean[i] *= scale;
        variance[i] *= scale * scale;
    }
}

void prepare(const Model& model, const Settings& settings, const Rows& rows, std::size_t begin, std::size_t end,
             Clock clock, PreparedRows& prepared) {
    const design::Csr& x = rows.features;
    const auto most = static_cast<std::size_t>(x.indptr[end] - x.indptr[begin]) + (end - begin);
    const double offset = settings.coupled ? settings.label_offset : 0.0;
    prepared.start.assign(1, 0);
    prepared.scale.clear();
    prepared.feature.resize(most);
    prepared.value.resize(most);
    prepared.retention.resize(settings.forgetting > 0.0 ? most : 0);
    const double rate = portable_log(1.0 - settings.forgetting);
    std::int64_t now = model.n_rows;
    std::size_t n = 0;
    const auto add = [&](std::int32_t feature, double value) {
        prepared.feature[n] = feature;
        prepared.value[n] = static_cast<float>(std::clamp(value, -2.0, 2.0));
        if (value == 0.0) return;  // an entry that is stored but zero changes nothing
        if (settings.forgetting > 0.0) {
            const auto elapsed = static_cast<double>(now - model.current[feature]);
            prepared.retention[n] = static_cast<float>(portable_exp(elapsed * rate));
            if (clock == Clock::learning) model.current[feature] = now;
        }
        ++n;
    };
    for (std::size_t row = begin; row < end; ++row) {
        double largest = offset;
        for (std::int64_t k = x.indptr[row]; k < x.indptr[row + 1]; ++k)
            largest = std::max(largest, std::fabs(x.values[k]));
        const double scale = scale_of(largest), inverse = 1.0 / scale;  // both exact: powers of two
        if (clock == Clock::learning) ++now;
        if (offset > 0.0) add(0, offset * inverse);
        for (std::int64_t k = x.indptr[row]; k < x.indptr[row + 1]; ++k) add(x.indices[k] + 1, x.values[k] * inverse);
        prepared.start.push_back(n);
        prepared.scale.push_back(scale);
    }
    prepared.feature.resize(n);
    prepared.value.resize(n);
    prepared.retention.resize(settings.forgetting > 0.0 ? n : 0);
}

}  // namespace labelweave::online
