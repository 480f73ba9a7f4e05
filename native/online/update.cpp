#include "online/update.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "online/message_exchange.hpp"
#include "online/prepared_rows.hpp"
#include "online/row_update.hpp"
#include "threads/parallel.hpp"

namespace labelweave::online {
namespace {

// Expectation propagation has converged when the mean of the bias moves by less than this many standard deviations, and
// its precision by less than this share.
constexpr double kTolerance = 1e-3;
constexpr int kMostRounds = 10;
// Weights touched between two looks for Ctrl-C; threads start anew each time, which takes as long as a few dozen rows.
constexpr double kChunkWork = 2e7, kTrialWork = 2.5e6;

bool converged(const NaturalGaussian& before, const NaturalGaussian& after) {
    const double moved = std::fabs(after.weighted_mean / after.precision - before.weighted_mean / before.precision);
    return std::fabs(after.precision - before.precision) <= kTolerance * after.precision &&
           moved <= kTolerance / std::sqrt(after.precision);
}

void load_labels(const Model& model, const Settings& settings, std::size_t begin, std::size_t end, Workspace& work) {
    for (std::size_t i = 0; i < work.n_lanes; ++i) work.bias_variance[i] = broadcast(1.0);
    for (std::size_t c = begin; c < end; ++c) {
        numbers(work.positives)[c] = static_cast<double>(model.positives[c]);
        numbers(work.observed)[c] = static_cast<double>(model.observed[c]);
        if (settings.coupled) continue;
        numbers(work.bias)[c] = model.bias_mean[c];
        numbers(work.bias_variance)[c] = model.bias_variance[c];
    }
}

void store_labels(const Model& model, const Settings& settings, std::size_t begin, std::size_t end, Workspace& work) {
    for (std::size_t c = begin; c < end; ++c) {
        model.positives[c] = static_cast<std::int64_t>(numbers(work.positives)[c]);
        model.observed[c] = static_cast<std::int64_t>(numbers(work.observed)[c]);
        if (settings.coupled) continue;
        model.bias_mean[c] = numbers(work.bias)[c];
        model.bias_variance[c] = numbers(work.bias_variance)[c];
    }
}

// The standardised scores of the labels [begin, end) before the row is learned from.
void predict(const Settings& settings, double bias, double bias_variance, std::size_t begin, std::size_t end,
             Workspace& work, double* z) {
    const double noise = settings.noise * settings.noise;
    for (std::size_t c = begin; c < end; ++c) {
        if (!settings.coupled) bias = numbers(work.bias)[c], bias_variance = numbers(work.bias_variance)[c];
        const double variance = numbers(work.variance)[c] + noise + bias_variance;
        z[c] = (numbers(work.mean)[c] - bias) / std::sqrt(variance);
    }
}

using Steady = std::chrono::steady_clock;

// One thread's labels, blocks [first, last), through a chunk of rows. It allocates all of its memory in advance,
// because the other threads would wait forever for a thread that fails.
struct alignas(64) LabelShare {
    const Model& model;
    const Settings& settings;
    const PreparedRows& rows;
    const PrequentialRows& predicted;
    MessageExchange& exchange;
    std::size_t member, first, last;
    std::size_t flag;            // among all messages, the one that says whether to stop after the row
    std::uint64_t n_rounds = 0;  // so far, over all rows
    bool stop = false;
    Steady::time_point finish{};  // when the first member gives up, since the others are kept from running
    std::size_t done = 0;         // rows learned from: the same for all members
    std::vector<NaturalGaussian> sums = std::vector<NaturalGaussian>(last - first + 1);
    // Separate cache lines: writes of another core to the same line would keep invalidating it.
    Workspace work{model};

    // `before`: rows ahead of this chunk in the same call.
    void learn(const std::int8_t* labels, std::size_t before, Steady::time_point until) noexcept {
        finish = until;
        const std::int64_t* predicted_end = predicted.rows + predicted.n;
        const std::int64_t* next_predicted =
            std::lower_bound(predicted.rows, predicted_end, static_cast<std::int64_t>(before));
        const auto prior = static_cast<float>(settings.prior_variance);
        const std::size_t begin = first * kBlock, end = std::min(last * kBlock, model.n_labels);
        load_labels(model, settings, begin, end, work);
        double mean = 0.0, variance = 1.0;  // of the one bias that coupled labels share
        if (settings.coupled) mean = model.bias_mean[0], variance = model.bias_variance[0];
        for (std::size_t row = 0; row < rows.size() && !stop; done = ++row) {
            load_factors(model, settings, labels + row * model.n_labels, first, last, work);
            gather_moments(model, rows, row, prior, first, last, work.mean.data(), work.variance.data());
            if (next_predicted != predicted_end && static_cast<std::size_t>(*next_predicted) == before + row)
                predict(settings, mean, variance, begin, end, work,
                        predicted.z + static_cast<std::size_t>(next_predicted++ - predicted.rows) * model.n_labels);
            if (settings.coupled)
                propagate(mean, variance);
            else
                update_independent(settings, first, last, work);
            write_back(model, rows, row, prior, first, last, work);
        }
        store_labels(model, settings, begin, end, work);
        if (settings.coupled && member == 0) {
            model.bias_mean[0] = mean;
            model.bias_variance[0] = variance;
        }
    }

    bool late() const { return finish != Steady::time_point::max() && Steady::now() > finish; }

    // Rounds of messages until the bias has converged; all threads see the same sums and stop together.
    void propagate(double& mean, double& variance) {
        double precision = 1.0 / variance;
        if (settings.forgetting > 0.0) {
            const double least = 1.0 / settings.bias_variance;
            precision = least + (1.0 - settings.forgetting) * (precision - least);
        }
        const NaturalGaussian prior{precision, mean * precision};
        for (std::size_t i = 2 * first; i < 2 * last; ++i) work.precision[i] = work.weighted_mean[i] = Lanes{};
        NaturalGaussian bias = prior;
        for (int round = 0; round < kMostRounds; ++round) {
            exchange.prefetch(member, ++n_rounds);
            send_messages(settings, prior, bias, first, last, sums.data(), work);
            if (member == 0) sums.back() = {late() ? 1.0 : 0.0, 0.0};
            exchange.send(member, n_rounds, sums.data());
            const NaturalGaussian before = bias;
            bias = prior;
            std::size_t n_received = 0;
            exchange.receive(n_rounds, [&](const NaturalGaussian& message) {  // always in the order of the labels
                if (n_received++ == flag) {
                    stop = message.precision != 0.0;
                    return;
                }
                bias.precision += message.precision;
                bias.weighted_mean += message.weighted_mean;
            });
            if (converged(before, bias)) break;
        }
        mean = bias.weighted_mean / bias.precision;
        variance = 1.0 / bias.precision;
    }
};

std::size_t chunk_end(const Model& model, const Rows& rows, std::size_t begin, double most) {
    double work = 0.0;
    std::size_t end = begin;
    for (; end < rows.n_rows && work < most; ++end) {
        const std::int64_t entries = rows.features.indptr[end + 1] - rows.features.indptr[end];
        work += static_cast<double>(entries + 8) * static_cast<double>(label_blocks(model) * kBlock);
    }
    return end;
}

// The first block of each member's share, and the end of the last share: whole panels, as even as possible and never
// empty. Two shares within one panel would be as slow as one thread.
std::vector<std::size_t> share_panels(const Model& model, std::size_t n_members) {
    const std::size_t n_blocks = label_blocks(model);
    std::vector<std::size_t> edges{0};
    for (std::size_t m = 1; m < n_members; ++m) {
        std::size_t edge = n_blocks;
        const auto distance = [&](std::size_t block) {
            return std::fabs(static_cast<double>(block * n_members) - static_cast<double>(m * n_blocks));
        };
        for (const Panel& panel : model.panels)
            if (distance(panel.first) < distance(edge)) edge = panel.first;
        edges.push_back(std::max(edge, edges.back()));
    }
    edges.push_back(n_blocks);
    // A member without labels would send nothing, and nobody would wait until it has received the others' messages.
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return edges;
}

// Those who share the labels of a chunk of rows.
class LabelShares {
  public:
    LabelShares(const Model& model, const Settings& settings, const PreparedRows& rows,
                const PrequentialRows& predicted, std::size_t n_members)
        : edges_(share_panels(model, n_members)), exchange_(counts()) {
        shares_.reserve(edges_.size() - 1);
        for (std::size_t m = 0; m + 1 < edges_.size(); ++m)
            shares_.push_back(
                LabelShare{model, settings, rows, predicted, exchange_, m, edges_[m], edges_[m + 1], edges_[1]});
    }
    LabelShares(const LabelShares&) = delete;

    // Returns how many of the rows it came to until `finish`; nothing if the machine has no threads for it.
    std::optional<std::size_t> learn(const std::int8_t* labels, std::size_t before, Steady::time_point finish) {
        const auto work = [&](std::size_t m) { shares_[m].learn(labels, before, finish); };
        if (!threads::run_together(shares_.size(), work)) return std::nullopt;
        return shares_[0].done;
    }

  private:
    std::vector<std::size_t> counts() const {
        std::vector<std::size_t> counts;
        for (std::size_t m = 0; m + 1 < edges_.size(); ++m) counts.push_back(edges_[m + 1] - edges_[m] + (m == 0));
        return counts;
    }

    std::vector<std::size_t> edges_;
    MessageExchange exchange_;
    std::vector<LabelShare> shares_;
};

// Rows that forget are prepared once: there is no stopping between them.
Steady::time_point finish_of(const Settings& settings, const ThreadTuner& tuner, std::size_t n_threads,
                             std::size_t work) {
    if (n_threads == 1 || settings.forgetting > 0.0) return Steady::time_point::max();
    return Steady::now() + std::chrono::duration_cast<Steady::duration>(tuner.patience(work));
}

}  // namespace

void update(Model& model, const Settings& settings, const Rows& rows, const std::int8_t* labels,
            const PrequentialRows& predicted, int n_threads, ThreadTuner& tuner, threads::Interrupt& interrupt) {
    const std::size_t most = std::min<std::size_t>(threads::resolve_threads(n_threads), model.panels.size());
    PreparedRows prepared;
    for (std::size_t begin = 0, end; begin < rows.n_rows; begin = end) {
        const std::size_t n_used = tuner.choose(most);
        end = chunk_end(model, rows, begin, tuner.trying() ? kTrialWork : kChunkWork);
        // All memory is allocated before the model changes, so that a failure keeps the model of the earlier rows.
        prepared.start.reserve(end - begin + 1);
        prepared.scale.reserve(end - begin);
        LabelShares shares(model, settings, prepared, predicted, n_used);
        prepare(model, settings, rows, begin, end, Clock::learning, prepared);
        const auto start = Steady::now();
        const auto finish = finish_of(settings, tuner, n_used, prepared.feature.size() + prepared.size());
        const std::int8_t* chunk_labels = labels + begin * model.n_labels;
        std::optional<std::size_t> learned = shares.learn(chunk_labels, begin, finish);
        if (!learned)
            learned = LabelShares(model, settings, prepared, predicted, 1)
                          .learn(chunk_labels, begin, Steady::time_point::max());
        const std::size_t done = *learned;
        tuner.record(Steady::now() - start, prepared.start[done] + done);
        end = begin + done;
        model.n_rows += static_cast<std::int64_t>(end - begin);
        interrupt.check();
    }
}

void touch(const Model& model, const Rows& rows) {
    PreparedRows prepared;
    for (std::size_t begin = 0, end; begin < rows.n_rows; begin = end) {
        end = chunk_end(model, rows, begin, kChunkWork);
        prepare(model, {}, rows, begin, end, Clock::predicting, prepared);
        for (std::size_t row = 0; row < prepared.size(); ++row)
            for (const Panel& panel : model.panels)
                for (std::size_t k = prepared.start[row]; k < prepared.start[row + 1]; ++k) {
                    float* of = panel.of(prepared.feature[k]);
                    for (std::size_t c = 0; c < 2 * panel.width; ++c) of[c] = -of[c];
                }
    }
}

}  // namespace labelweave::online
