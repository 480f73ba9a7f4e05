#include "online_rows.hpp"

#include <algorithm>
#include <cmath>

namespace labelweave {
namespace {

// Features beyond 2^400 count as that large: their squares times any variance stay finite.
constexpr int kLargestExponent = 400;
// So many products are summed in float32 before they are added to a double: their rounding stays at one unit.
constexpr std::size_t kFloatTerms = 8;

double scale_of(double largest) {
    if (largest == 0.0) return 1.0;
    return std::ldexp(1.0, std::clamp(std::ilogb(largest), -kLargestExponent, kLargestExponent));
}

// Entries that are stored but zero change nothing, and are left out.
template <class Visit>
void visit_nonzeros(const OnlineRows& rows, std::size_t row, Visit&& visit) {
    const Csr& x = rows.features;
    for (std::int64_t k = x.indptr[row]; k < x.indptr[row + 1]; ++k)
        if (x.values[k] != 0.0) visit(x.indices[k], x.values[k]);
}

LABELWEAVE_INLINE void add_to_doubles(Wide& sums, Lanes* to) {
    Half half[2];
    std::memcpy(half, &sums, sizeof half);
    to[0] += __builtin_convertvector(half[0], Lanes);
    to[1] += __builtin_convertvector(half[1], Lanes);
    sums = Wide{};
}

// Sums over the row's features for N blocks of labels, all in registers.
template <int N, bool Forgetting>
LABELWEAVE_INLINE void gather_blocks(const float* weights, std::size_t width, const PreparedRows& rows,
                                     std::size_t row, float prior, Lanes* mean, Lanes* variance) {
    Wide m[N] = {}, v[N] = {};
    const std::size_t end = rows.start[row + 1];
    for (std::size_t k = rows.start[row]; k < end;) {
        const std::size_t stop = std::min(end, k + kFloatTerms);
        for (; k < stop; ++k) {
            const float* of = weights + static_cast<std::size_t>(rows.feature[k]) * 2 * width;
            const float x = rows.value[k], square = x * x;
            for (int b = 0; b < N; ++b) {
                Wide mu, sigma;
                std::memcpy(&mu, of + b * kBlock, sizeof mu);
                std::memcpy(&sigma, of + width + b * kBlock, sizeof sigma);
                if (Forgetting) sigma = forgotten(sigma, rows.keeping[k], prior);
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

template <bool Forgetting>
LABELWEAVE_INLINE void gather_some(std::size_t n_blocks, const float* weights, std::size_t width,
                                   const PreparedRows& rows, std::size_t row, float prior, Lanes* mean,
                                   Lanes* variance) {
    switch (n_blocks) {
        case 1: return gather_blocks<1, Forgetting>(weights, width, rows, row, prior, mean, variance);
        case 2: return gather_blocks<2, Forgetting>(weights, width, rows, row, prior, mean, variance);
        case 3: return gather_blocks<3, Forgetting>(weights, width, rows, row, prior, mean, variance);
        case 4: return gather_blocks<4, Forgetting>(weights, width, rows, row, prior, mean, variance);
        case 5: return gather_blocks<5, Forgetting>(weights, width, rows, row, prior, mean, variance);
        case 6: return gather_blocks<6, Forgetting>(weights, width, rows, row, prior, mean, variance);
        case 7: return gather_blocks<7, Forgetting>(weights, width, rows, row, prior, mean, variance);
        default: return gather_blocks<8, Forgetting>(weights, width, rows, row, prior, mean, variance);
    }
}

}  // namespace

LABELWEAVE_KERNEL void gather_moments(const OnlineModel& model, const PreparedRows& rows, std::size_t row,
                                      float prior, std::size_t first, std::size_t last, Lanes* mean,
                                      Lanes* variance) {
    for (std::size_t i = 2 * first; i < 2 * last; ++i) mean[i] = variance[i] = Lanes{};
    for (std::size_t block = first; block < last; block += 8) {
        const std::size_t n_blocks = std::min<std::size_t>(8, last - block);
        const float* weights = model.weights + block * kBlock;
        if (rows.keeping.empty())
            gather_some<false>(n_blocks, weights, model.width, rows, row, prior, mean + 2 * block,
                               variance + 2 * block);
        else
            gather_some<true>(n_blocks, weights, model.width, rows, row, prior, mean + 2 * block,
                              variance + 2 * block);
    }
    const double scale = rows.scale[row];
    for (std::size_t i = 2 * first; i < 2 * last; ++i) {
        mean[i] *= scale;
        variance[i] *= scale * scale;
    }
}

PreparedRows prepare(const OnlineModel& model, const OnlineSettings& settings, const OnlineRows& rows,
                     std::size_t begin, std::size_t end, Clock clock) {
    PreparedRows prepared;
    const double rate = std::log1p(-settings.forgetting);
    std::int64_t now = model.n_rows;
    for (std::size_t row = begin; row < end; ++row) {
        double largest = 0.0;
        visit_nonzeros(rows, row, [&](std::int32_t, double x) { largest = std::max(largest, std::fabs(x)); });
        const double scale = scale_of(largest);
        if (clock == Clock::learning) ++now;
        visit_nonzeros(rows, row, [&](std::int32_t feature, double x) {
            prepared.feature.push_back(feature);
            prepared.value.push_back(static_cast<float>(std::clamp(x / scale, -2.0, 2.0)));
            if (settings.forgetting == 0.0) return;
            const auto elapsed = static_cast<double>(now - model.current[feature]);
            prepared.keeping.push_back(static_cast<float>(std::exp(elapsed * rate)));
            if (clock == Clock::learning) model.current[feature] = now;
        });
        prepared.start.push_back(prepared.feature.size());
        prepared.scale.push_back(scale);
    }
    return prepared;
}

}  // namespace labelweave
