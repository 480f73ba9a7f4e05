#include "online.hpp"

#include <algorithm>
#include <cmath>

#include "meeting.hpp"
#include "pace.hpp"
#include "online_message.hpp"
#include "online_rows.hpp"
#include "parallel.hpp"

namespace labelweave {
namespace {

// Expectation propagation ends when the bias moves by less than this, in standard deviations and relatively.
constexpr double kTolerance = 1e-3;
constexpr int kMostRounds = 10;
// A variance shrinks by no more than this in one step, float32's own resolution, and stays a normal number.
constexpr float kSmallestFactor = 0x1p-23f;
constexpr float kLeast = 1e-30f, kMost = 1e30f;
// Weights touched between two looks for Ctrl-C; threads start anew each time.
constexpr double kChunkWork = 5e6;

// The state of a row while threads work on it, labels in lanes.
struct Workspace {
    explicit Workspace(const OnlineModel& model)
        : n_lanes(2 * label_blocks(model)), mean(n_lanes), variance(n_lanes), sign(n_lanes), margin(n_lanes),
          known(n_lanes), precision(n_lanes), weighted_mean(n_lanes), positives(n_lanes), observed(n_lanes),
          bias(n_lanes), bias_variance(n_lanes), sums{LaneArray(n_lanes), LaneArray(n_lanes)}, pull(n_lanes),
          certainty(n_lanes), float_pull(n_lanes * kLanes), float_certainty(n_lanes * kLanes) {}
    std::size_t n_lanes;
    LaneArray mean, variance, sign, margin, known;
    LaneArray precision, weighted_mean;  // messages to the coupled bias
    LaneArray positives, observed;
    LaneArray bias, bias_variance;  // of the independent model
    LaneArray sums[2];              // messages summed over a block of labels: even and odd turns
    LaneArray pull, certainty;      // the answers, and their copies for the weights
    std::vector<float> float_pull, float_certainty;
};

LABELWEAVE_INLINE double* numbers(LaneArray& lanes) { return reinterpret_cast<double*>(lanes.data()); }

// What the labels [first, last) of a row are asked; counts them on the way.
LABELWEAVE_KERNEL void read_labels(const OnlineSettings& settings, const std::int8_t* labels, std::size_t first,
                                   std::size_t last, Workspace& work) {
    double *sign = numbers(work.sign), *known = numbers(work.known), *margin = numbers(work.margin);
    double *positives = numbers(work.positives), *observed = numbers(work.observed);
    for (std::size_t c = first; c < last; ++c) {
        const double relevant = labels[c] > 0 ? 1.0 : 0.0;
        known[c] = labels[c] >= 0 ? 1.0 : 0.0;
        sign[c] = 2.0 * relevant - 1.0;
        margin[c] = settings.margin;
        positives[c] += relevant;
        observed[c] += known[c];
    }
    if (!settings.skew_margin) return;
    for (std::size_t c = first; c < last; ++c)
        if (labels[c] > 0)  // ln(e + 1/r): the rarer a label, the further its examples are to lie from the others
            margin[c] *= std::log(2.718281828459045 + (observed[c] - positives[c]) / positives[c]);
}

LABELWEAVE_INLINE Question question(const Workspace& work, const OnlineSettings& settings, std::size_t i) {
    const double noise = std::max(settings.noise * settings.noise, kSmallestVariance);
    return {work.mean[i], work.variance[i] + noise, work.sign[i], work.margin[i], work.known[i]};
}

LABELWEAVE_INLINE Lanes bounded(const Lanes& x) {
    const Lanes most = broadcast(kMost);
    return select(x > most, most, select(x < -most, -most, x));
}

// How the weights of the labels [16 first, 16 last) move, in float32 and scaled as the row's features are.
LABELWEAVE_KERNEL void round_answers(std::size_t first, std::size_t last, double scale, Workspace& work) {
    for (std::size_t i = 2 * first; i < 2 * last; ++i) {
        const Half pull = __builtin_convertvector(bounded(work.pull[i] * scale), Half);
        const Half certainty = __builtin_convertvector(bounded(work.certainty[i] * (scale * scale)), Half);
        std::memcpy(work.float_pull.data() + i * kLanes, &pull, sizeof pull);
        std::memcpy(work.float_certainty.data() + i * kLanes, &certainty, sizeof certainty);
    }
}

// Every label on its own, biases included: one truncation, in closed form.
LABELWEAVE_KERNEL void answer_alone(const OnlineSettings& settings, std::size_t first, std::size_t last,
                                    Workspace& work) {
    for (std::size_t i = 2 * first; i < 2 * last; ++i) {
        const Question ask = question(work, settings, i);
        Lanes& variance = work.bias_variance[i];
        if (settings.forgetting > 0.0) {
            const double prior = settings.bias_variance;
            variance = prior * variance / (variance + (1.0 - settings.forgetting) * (prior - variance));
        }
        const Answer told = answer(ask, work.bias[i], variance, settings.flip_probability);
        work.bias[i] -= variance * told.pull;
        const Lanes total = ask.variance + variance;
        variance *= (ask.variance + variance * told.kept) / total;
        work.pull[i] = told.pull;
        work.certainty[i] = told.certainty;
    }
}

struct Natural {
    double precision, weighted_mean;
};

// One round of messages between the labels [16 first, 16 last) and the bias, all from the bias of the round before.
LABELWEAVE_KERNEL void answer_together(const OnlineSettings& settings, const Natural& prior, const Natural& bias,
                                       std::size_t first, std::size_t last, LaneArray& sums,
                                       Workspace& work) {
    for (std::size_t block = first; block < last; ++block) {
        Lanes precision{}, weighted_mean{};
        for (std::size_t i = 2 * block; i < 2 * block + 2; ++i) {
            const Question ask = question(work, settings, i);
            // The cavity: the bias without what this label told it. Others can only have added to the prior.
            Lanes cavity = bias.precision - work.precision[i];
            cavity = select(cavity < prior.precision, broadcast(prior.precision), cavity);
            const Lanes variance = 1.0 / cavity;
            const Lanes mean = (bias.weighted_mean - work.weighted_mean[i]) * variance;
            const Answer told = answer(ask, mean, variance, settings.flip_probability);
            const BiasMessage message = to_bias(ask, told, mean, variance);
            work.precision[i] = message.precision;
            work.weighted_mean[i] = message.weighted_mean;
            precision += message.precision;
            weighted_mean += message.weighted_mean;
            work.pull[i] = told.pull;
            work.certainty[i] = told.certainty;
        }
        sums[2 * block] = precision;
        sums[2 * block + 1] = weighted_mean;
    }
}

// The prior and all messages, always added in the same order.
LABELWEAVE_KERNEL void add_messages(const Natural& prior, const LaneArray& sums, Natural& bias) {
    Lanes precision{}, weighted_mean{};
    for (std::size_t i = 0; i < sums.size(); i += 2) {
        precision += sums[i];
        weighted_mean += sums[i + 1];
    }
    bias = {prior.precision + sum(precision), prior.weighted_mean + sum(weighted_mean)};
}

bool settled(const Natural& before, const Natural& after) {
    const double moved = std::fabs(after.weighted_mean / after.precision - before.weighted_mean / before.precision);
    return std::fabs(after.precision - before.precision) <= kTolerance * after.precision &&
           moved <= kTolerance / std::sqrt(after.precision);
}

LABELWEAVE_KERNEL void write_back(const OnlineModel& model, const PreparedRows& rows, std::size_t row, float prior,
                                  std::size_t first, std::size_t last, const Workspace& work) {
    const Wide least = Wide{} + kLeast, most = Wide{} + kMost, smallest = Wide{} + kSmallestFactor;
    for (std::size_t k = rows.start[row]; k < rows.start[row + 1]; ++k) {
        float* of = model.weights + static_cast<std::size_t>(rows.feature[k]) * 2 * model.width;
        const float x = rows.value[k];
        const float keeping = rows.keeping.empty() ? 1.0f : rows.keeping[k];
        for (std::size_t c = first * kBlock; c < last * kBlock; c += kBlock) {
            Wide mean, variance, pull, certainty;
            std::memcpy(&mean, of + c, sizeof mean);
            std::memcpy(&variance, of + model.width + c, sizeof variance);
            std::memcpy(&pull, work.float_pull.data() + c, sizeof pull);
            std::memcpy(&certainty, work.float_certainty.data() + c, sizeof certainty);
            if (keeping < 1.0f) variance = forgotten(variance, keeping, prior);
            const Wide step = variance * x;
            mean += step * pull;
            mean = mean > most ? most : (mean < -most ? -most : mean);
            Wide factor = 1.0f - step * x * certainty;
            factor = factor < smallest ? smallest : factor;
            variance *= factor;
            variance = variance < least ? least : (variance > most ? most : variance);
            std::memcpy(of + c, &mean, sizeof mean);
            std::memcpy(of + model.width + c, &variance, sizeof variance);
        }
    }
}

// One thread's labels, blocks [first, last), through a chunk of rows.
struct Share {
    const OnlineModel& model;
    const OnlineSettings& settings;
    const PreparedRows& rows;
    Workspace& work;
    Meeting& meeting;
    std::size_t member, first, last;
    std::size_t turn = 0;  // rounds so far, over all rows

    void learn(const std::int8_t* labels) {
        const auto prior = static_cast<float>(settings.prior_variance);
        const std::size_t end = std::min(last * kBlock, model.n_labels);
        double mean = model.bias_mean[0], variance = model.bias_variance[0];
        for (std::size_t row = 0; row < rows.size(); ++row) {
            read_labels(settings, labels + row * model.n_labels, first * kBlock, end, work);
            gather_moments(model, rows, row, prior, first, last, work.mean.data(), work.variance.data());
            if (settings.coupled)
                agree(mean, variance);
            else
                answer_alone(settings, first, last, work);
            round_answers(first, last, rows.scale[row], work);
            write_back(model, rows, row, prior, first, last, work);
        }
        if (settings.coupled && member == 0) {
            model.bias_mean[0] = mean;
            model.bias_variance[0] = variance;
        }
    }

    // Rounds of messages until the bias is settled; all threads see the same sums and stop together.
    void agree(double& mean, double& variance) {
        double precision = 1.0 / variance;
        if (settings.forgetting > 0.0) {
            const double least = 1.0 / settings.bias_variance;
            precision = least + (1.0 - settings.forgetting) * (precision - least);
        }
        const Natural prior{precision, mean * precision};
        for (std::size_t i = 2 * first; i < 2 * last; ++i) work.precision[i] = work.weighted_mean[i] = Lanes{};
        Natural bias = prior;
        for (int round = 0; round < kMostRounds; ++round) {
            // Others may still be reading the sums of the turn before, but no older ones.
            LaneArray& sums = work.sums[turn++ % 2];
            answer_together(settings, prior, bias, first, last, sums, work);
            meeting.wait(member);
            const Natural last_bias = bias;
            add_messages(prior, sums, bias);
            if (settled(last_bias, bias)) break;
        }
        mean = bias.weighted_mean / bias.precision;
        variance = 1.0 / bias.precision;
    }
};

void load_labels(const OnlineModel& model, const OnlineSettings& settings, Workspace& work) {
    for (std::size_t i = 0; i < work.n_lanes; ++i) work.bias_variance[i] = broadcast(1.0);
    for (std::size_t c = 0; c < model.n_labels; ++c) {
        numbers(work.positives)[c] = static_cast<double>(model.positives[c]);
        numbers(work.observed)[c] = static_cast<double>(model.observed[c]);
        if (settings.coupled) continue;
        numbers(work.bias)[c] = model.bias_mean[c];
        numbers(work.bias_variance)[c] = model.bias_variance[c];
    }
}

void store_labels(const OnlineModel& model, const OnlineSettings& settings, Workspace& work) {
    for (std::size_t c = 0; c < model.n_labels; ++c) {
        model.positives[c] = static_cast<std::int64_t>(numbers(work.positives)[c]);
        model.observed[c] = static_cast<std::int64_t>(numbers(work.observed)[c]);
        if (settings.coupled) continue;
        model.bias_mean[c] = numbers(work.bias)[c];
        model.bias_variance[c] = numbers(work.bias_variance)[c];
    }
}

std::size_t chunk_end(const OnlineModel& model, const OnlineRows& rows, std::size_t begin) {
    double work = 0.0;
    std::size_t end = begin;
    for (; end < rows.n_rows && work < kChunkWork; ++end) {
        const std::int64_t entries = rows.features.indptr[end + 1] - rows.features.indptr[end];
        work += static_cast<double>(entries + 8) * static_cast<double>(model.width);
    }
    return end;
}

}  // namespace

void online_update(OnlineModel& model, const OnlineSettings& settings, const OnlineRows& rows,
                   const std::int8_t* labels, int n_threads, Interrupt& interrupt) {
    const std::size_t n_blocks = label_blocks(model);
    // Labels on their own never wait for each other; coupled ones do, several times a row.
    Pace pace(std::min<std::size_t>(resolve_threads(n_threads), n_blocks), settings.coupled);
    Workspace work(model);
    load_labels(model, settings, work);
    for (std::size_t begin = 0, end; begin < rows.n_rows; begin = end) {
        end = chunk_end(model, rows, begin);
        const PreparedRows prepared = prepare(model, settings, rows, begin, end, Clock::learning);
        const std::size_t n_members = pace.choose();
        const auto start = std::chrono::steady_clock::now();
        Meeting meeting(n_members);
        // Members wait for each other, so each needs a thread of its own: one task for each of them.
        parallel_for(n_members, static_cast<int>(n_members), [&](std::size_t member) {
            const std::size_t first = member * n_blocks / n_members, last = (member + 1) * n_blocks / n_members;
            Share{model, settings, prepared, work, meeting, member, first, last}.learn(labels +
                                                                                         begin * model.n_labels);
        });
        pace.record(std::chrono::steady_clock::now() - start, prepared.feature.size() + prepared.size());
        store_labels(model, settings, work);
        model.n_rows += static_cast<std::int64_t>(end - begin);
        interrupt.check();
    }
}

void online_touch(const OnlineModel& model, const OnlineRows& rows) {
    for (std::size_t begin = 0, end; begin < rows.n_rows; begin = end) {
        end = chunk_end(model, rows, begin);
        const PreparedRows prepared = prepare(model, {}, rows, begin, end, Clock::predicting);
        for (std::size_t k = 0; k < prepared.feature.size(); ++k) {
            float* of = model.weights + static_cast<std::size_t>(prepared.feature[k]) * 2 * model.width;
            for (std::size_t c = 0; c < 2 * model.width; ++c) of[c] = -of[c];
        }
    }
}

}  // namespace labelweave
