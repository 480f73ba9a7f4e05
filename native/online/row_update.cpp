#include "online/row_update.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "online/truncation_factor.hpp"
#include "simd/portable_math.hpp"

namespace labelweave::online {
namespace {

// A variance shrinks by no more than this in one step, float32's own resolution, and stays a normal number.
constexpr float kSmallestFactor = 0x1p-23f;
constexpr float kLeast = 1e-30f, kMost = 1e30f;
// A step this small leaves a weight above 1e-12 as it is.
constexpr double kNegligible = 1e-20;

// One for each of eight labels: 0, 1 or -1; those beyond the end count as unknown.
LABELWEAVE_INLINE Lanes eight_labels(const std::int8_t* labels, std::size_t n_labels, std::size_t i) {
    std::int8_t bytes[kLanes] = {-1, -1, -1, -1, -1, -1, -1, -1};
    if ((i + 1) * kLanes <= n_labels)
        std::memcpy(bytes, labels + i * kLanes, sizeof bytes);
    else if (i * kLanes < n_labels)
        std::memcpy(bytes, labels + i * kLanes, n_labels - i * kLanes);
    double values[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) values[lane] = bytes[lane];
    return load(values);
}

// ln(e + 1/r) for the row's labels: the rarer a label, the larger the margin of its examples. Unknown ratios are
// estimated from the rows so far.
void widen_margins(const Model& model, const std::int8_t* labels, std::size_t begin, std::size_t end, Workspace& work) {
    double *margin = numbers(work.margin), *positives = numbers(work.positives), *observed = numbers(work.observed);
    for (std::size_t c = begin; c < end; ++c) {
        std::uint64_t eight = 1;
        if (c + sizeof eight <= end) std::memcpy(&eight, labels + c, sizeof eight);
        if (eight == 0)  // as in most places: a row has few labels
            c += sizeof eight - 1;
        else if (labels[c] > 0)
            margin[c] *= model.skew ? model.skew[c]
                                    : portable_log(2.718281828459045 + (observed[c] - positives[c]) / positives[c]);
    }
}

LABELWEAVE_INLINE TruncationFactor load_factor(const Workspace& work, const Settings& settings, std::size_t i) {
    const double noise = std::max(settings.noise * settings.noise, kSmallestVariance);
    return {work.mean[i], work.variance[i] + noise, work.sign[i], work.margin[i], work.known[i]};
}

// Most labels of a row are certain, and their scores learn almost nothing. Products with such small numbers would be
// subnormal, which costs most CPUs a hundred cycles each, so they count as zero.
LABELWEAVE_INLINE Lanes bounded(const Lanes& x) {
    const Lanes most = broadcast(kMost), size = abs(x);
    return select(size < kNegligible, broadcast(0.0), select(size > most, select(x < 0.0, -most, most), x));
}

// How the weights of the labels [16 first, 16 last) move, in float32 and scaled as the row's features are.
LABELWEAVE_KERNEL void round_update(std::size_t first, std::size_t last, double scale, Workspace& work) {
    for (std::size_t i = 2 * first; i < 2 * last; ++i) {
        store_narrow(work.float_gradient.data() + i * kLanes, bounded(work.gradient[i] * scale));
        store_narrow(work.float_curvature.data() + i * kLanes, bounded(work.curvature[i] * (scale * scale)));
    }
}

}  // namespace

LABELWEAVE_KERNEL void load_factors(const Model& model, const Settings& settings, const std::int8_t* labels,
                                    std::size_t first, std::size_t last, Workspace& work) {
    const std::size_t n_labels = model.n_labels;
    const Lanes none = 0.0, one = 1.0;
    for (std::size_t i = 2 * first; i < 2 * last; ++i) {
        const Lanes given = eight_labels(labels, n_labels, i);
        const Lanes relevant = select(given > 0.0, one, none), known = select(given < 0.0, none, one);
        work.sign[i] = 2.0 * relevant - 1.0;
        work.known[i] = known;
        work.margin[i] = broadcast(settings.margin);
        work.positives[i] += relevant;
        work.observed[i] += known;
    }
    if (settings.skew_margin) widen_margins(model, labels, first * kBlock, std::min(last * kBlock, n_labels), work);
}

LABELWEAVE_KERNEL void update_independent(const Settings& settings, std::size_t first, std::size_t last,
                                          Workspace& work) {
    for (std::size_t i = 2 * first; i < 2 * last; ++i) {
        const TruncationFactor factor = load_factor(work, settings, i);
        Lanes& variance = work.bias_variance[i];
        if (settings.forgetting > 0.0) {
            const double prior = settings.bias_variance;
            variance = prior * variance / (variance + (1.0 - settings.forgetting) * (prior - variance));
        }
        const MomentUpdate matched = match_moments(factor, work.bias[i], variance, settings.flip_probability);
        work.bias[i] -= variance * matched.gradient;
        const Lanes total = factor.variance + variance;
        variance *= (factor.variance + variance * matched.kept) / total;
        work.gradient[i] = matched.gradient;
        work.curvature[i] = matched.curvature;
    }
}

LABELWEAVE_KERNEL void send_messages(const Settings& settings, const NaturalGaussian& prior,
                                     const NaturalGaussian& bias, std::size_t first, std::size_t last,
                                     NaturalGaussian* sums, Workspace& work) {
    for (std::size_t block = first; block < last; ++block) {
        Lanes precision{}, weighted_mean{};
        for (std::size_t i = 2 * block; i < 2 * block + 2; ++i) {
            const TruncationFactor factor = load_factor(work, settings, i);
            // The cavity: the bias without this label's site. The other sites can only have added to the prior's
            // precision.
            Lanes cavity_precision = bias.precision - work.precision[i];
            cavity_precision = select(cavity_precision < prior.precision, broadcast(prior.precision), cavity_precision);
            const Lanes cavity_variance = 1.0 / cavity_precision;
            const Lanes cavity_mean = (bias.weighted_mean - work.weighted_mean[i]) * cavity_variance;
            const MomentUpdate matched = match_moments(factor, cavity_mean, cavity_variance, settings.flip_probability);
            const Message message = message_to_bias(factor, matched, cavity_mean, cavity_variance);
            work.precision[i] = message.precision;
            work.weighted_mean[i] = message.weighted_mean;
            precision += message.precision;
            weighted_mean += message.weighted_mean;
            work.gradient[i] = matched.gradient;
            work.curvature[i] = matched.curvature;
        }
        sums[block - first] = {sum(precision), sum(weighted_mean)};
    }
}

LABELWEAVE_KERNEL void write_back(const Model& model, const PreparedRows& rows, std::size_t row, float prior,
                                  std::size_t first, std::size_t last, Workspace& work) {
    round_update(first, last, rows.scale[row], work);
    const WideFloats least = kLeast, most = kMost, smallest = kSmallestFactor;
    visit_panels(model, first, last, [&](const Panel& panel, std::size_t block, std::size_t end) {
        const std::size_t before = panel.first * kBlock;  // labels of other panels
        const float *gradients = work.float_gradient.data() + before,
                    *curvatures = work.float_curvature.data() + before;
        for (std::size_t k = rows.start[row]; k < rows.start[row + 1]; ++k) {
            float* of = panel.of(rows.feature[k]);
            const float x = rows.value[k];
            const float retention = rows.retention.empty() ? 1.0f : rows.retention[k];
            for (std::size_t c = block * kBlock - before; c < end * kBlock - before; c += kBlock) {
                WideFloats mean = WideFloats::load(of + c), variance = WideFloats::load(of + panel.width + c);
                const WideFloats gradient = WideFloats::load(gradients + c),
                                 curvature = WideFloats::load(curvatures + c);
                if (retention < 1.0f) variance = inflate_variance(variance, retention, prior);
                const WideFloats step = variance * x;
                mean += step * gradient;
                variance *= at_least(1.0f - step * x * curvature, smallest);
                bounded(mean, -most, most).store(of + c);
                bounded(variance, least, most).store(of + panel.width + c);
            }
        }
    });
}

}  // namespace labelweave::online
