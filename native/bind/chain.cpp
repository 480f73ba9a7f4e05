#include <cmath>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "chain/beam.hpp"
#include "chain/best_first.hpp"
#include "chain/cardinality.hpp"
#include "chain/chain.hpp"
#include "chain/gibbs.hpp"
#include "chain/population.hpp"
#include "chain/relaxed_search.hpp"

namespace labelweave::bind {
namespace {

// A chain from Python, with the checks that every kernel needs.
using Scores = In<double, 2>;
using Order = In<std::int64_t, 1>;
// Arrays written to are bound with noconvert(): a converted copy would swallow the result.

void require_coupling(const Scores& coupling, std::size_t n_labels) {
    require(coupling.shape(0) == n_labels && coupling.shape(1) == n_labels, "coupling must be labels x labels");
}

chain::Chain checked_chain(const Scores& scores, const Scores& coupling, const Order& order) {
    const std::size_t n_labels = scores.shape(1);
    require_coupling(coupling, n_labels);
    std::vector<bool> seen(n_labels, false);
    for (std::size_t p = 0; p < order.shape(0); ++p) {
        const std::int64_t label = order.data()[p];
        require(label >= 0 && static_cast<std::size_t>(label) < n_labels && !seen[label],
                "order must name labels, each at most once");
        seen[label] = true;
    }
    return {scores.data(), coupling.data(), order.data(), scores.shape(0), n_labels, order.shape(0)};
}

template <class Array>
void require_labels(const Array& labels, const chain::Chain& chain, const char* name = "labels") {
    if (labels.shape(0) == chain.n_rows && labels.shape(labels.ndim() - 1) == chain.n_labels) return;
    throw nb::value_error((std::string(name) + " must match the rows and columns of scores").c_str());
}

// Every walked label has its own bit of the column index, or is known in all rows.
void check_slots(const chain::Chain& chain, const std::int8_t* known, const std::int64_t* slot, std::size_t n_columns) {
    std::size_t n_slots = 0;
    while (n_slots < 40 && (std::size_t{1} << n_slots) < n_columns) ++n_slots;
    require(n_columns == std::size_t{1} << n_slots, "out must have a power of two columns");
    std::vector<bool> taken(n_slots, false);
    for (std::size_t p = 0; p < chain.length; ++p) {
        const std::int64_t label = chain.order[p], bit = slot[label];
        if (bit >= 0) {
            require(static_cast<std::size_t>(bit) < n_slots && !taken[bit], "slot must name bits, each once");
            taken[bit] = true;
            continue;
        }
        for (std::size_t i = 0; i < chain.n_rows; ++i)
            require(known[i * chain.n_labels + label] >= 0, "a label without a slot must be known in all rows");
    }
}

void bind_table(nb::module_& m) {
    m.def(
        "chain_table",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> known, Order slot, Out<double, 2> out,
           int n_threads) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require_labels(known, chain);
            require(slot.shape(0) == chain.n_labels, "slot needs one entry for each label");
            require(out.shape(0) == chain.n_rows, "out needs one row for each row of scores");
            check_slots(chain, known.data(), slot.data(), out.shape(1));
            const ReleasedGil released;
            chain::table(chain, known.data(), slot.data(), out.shape(1), out.data(), n_threads);
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("known"), nb::arg("slot"),
        nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "Fill out[i, column] with the log-probability of the label vector whose bit slot[j] is label j.");
}

// All prefixes are walked, and a number is kept for each.
constexpr std::size_t kMostWalked = 24;

chain::Chain walked_chain(const Scores& scores, const Scores& coupling, const Order& order) {
    const chain::Chain chain = checked_chain(scores, coupling, order);
    require(chain.length == chain.n_labels, "order must name all labels");
    require(chain.length > 0 && chain.length <= kMostWalked, "there must be 1 to 24 labels");
    return chain;
}

void bind_cardinality(nb::module_& m) {
    m.def(
        "chain_cardinality",
        [](Scores scores, Scores coupling, Order order, Out<double, 2> out, int n_threads) {
            const chain::Chain chain = walked_chain(scores, coupling, order);
            require(out.shape(0) == chain.n_rows && out.shape(1) == chain.length + 1,
                    "out must be rows x (labels + 1)");
            interruptibly([&](threads::Interrupt& interrupt) {
                chain::cardinality(chain, out.data(), nullptr, n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "Fill out[i, s] with the probability of s positive labels.");
    m.def(
        "chain_cardinality_by_label",
        [](Scores scores, Scores coupling, Order order, Out<double, 3> out, int n_threads) {
            const chain::Chain chain = walked_chain(scores, coupling, order);
            require(out.shape(0) == chain.n_rows && out.shape(1) == chain.length && out.shape(2) == chain.length + 1,
                    "out must be rows x labels x (labels + 1)");
            interruptibly([&](threads::Interrupt& interrupt) {
                chain::cardinality(chain, nullptr, out.data(), n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "Fill out[i, j, s] with the probability that label j is positive together with s - 1 others.");
}

void bind_sample(nb::module_& m) {
    m.def(
        "chain_sample",
        [](Scores scores, Scores coupling, Order order, In<std::int64_t, 1> rows, std::uint64_t seed,
           Out<std::int8_t, 3> labels, Out<double, 2> log_weight, int n_threads) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(rows.shape(0) == chain.n_rows, "rows needs one id for each row of scores");
            require(log_weight.shape(0) == chain.n_rows && log_weight.shape(1) == labels.shape(1),
                    "log_weight needs one entry for each draw");
            const ReleasedGil released;
            chain::sample(chain, rows.data(), seed, labels.shape(1), labels.data(), log_weight.data(), n_threads);
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("rows"), nb::arg("seed"),
        nb::arg("labels").noconvert(), nb::arg("log_weight").noconvert(), nb::arg("n_threads") = 1,
        "Replace every -1 in labels by a draw keyed by (seed, rows[i], draw, label); weigh the given ones.");
}

void bind_populations(nb::module_& m) {
    m.def(
        "chain_populations",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> known, In<std::int64_t, 1> rows,
           std::uint64_t seed, std::size_t size, Out<double, 3> marginals, Out<double, 2> log_evidence,
           Out<double, 2> quantum, Out<std::int8_t, 4> labels, Out<double, 3> log_weight, int n_threads) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require_labels(known, chain, "known");
            require_labels(marginals, chain, "marginals");
            require(rows.shape(0) == chain.n_rows, "rows needs one id for each row of scores");
            require(size >= 1 && size <= (std::size_t{1} << 24), "size must be between 1 and 2^24");
            const std::size_t n_populations = marginals.shape(1);
            for (const auto& array : {log_evidence, quantum})
                require(array.shape(0) == chain.n_rows && array.shape(1) == n_populations,
                        "log_evidence and quantum need one entry for each population");
            const bool vectors = labels.shape(2) > 0;
            if (vectors) require_labels(labels, chain);
            require(!vectors || (labels.shape(1) == n_populations && labels.shape(2) == size),
                    "labels must be rows x populations x size x labels, or have size 0");
            require(!vectors || (log_weight.shape(0) == chain.n_rows && log_weight.shape(1) == n_populations &&
                                 log_weight.shape(2) == size),
                    "log_weight needs one entry for each vector in labels");
            const chain::Populations out{marginals.data(), log_evidence.data(), quantum.data(),
                                         vectors ? labels.data() : nullptr, vectors ? log_weight.data() : nullptr};
            interruptibly([&](threads::Interrupt& interrupt) {
                chain::populations(chain, known.data(), rows.data(), seed, {n_populations, size}, out, n_threads,
                                   interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("known"), nb::arg("rows"), nb::arg("seed"),
        nb::arg("size"), nb::arg("marginals").noconvert(), nb::arg("log_evidence").noconvert(),
        nb::arg("quantum").noconvert(), nb::arg("labels").noconvert(), nb::arg("log_weight").noconvert(),
        nb::arg("n_threads") = 1,
        "Walk populations of at most size weighted prefixes that agree with known, keyed by (seed, rows[i], "
        "draw, label).");
}

void bind_gibbs(nb::module_& m) {
    m.def(
        "chain_gibbs",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> known, In<std::int64_t, 1> rows,
           std::uint64_t seed, std::uint32_t first_draw, Out<std::int8_t, 2> labels, Out<std::int8_t, 2> best,
           Out<double, 2> best_gain, Out<std::int8_t, 3> samples, int n_threads) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require(order.shape(0) == chain.n_labels, "order must name every label once");
            require_labels(known, chain, "known");
            require_labels(labels, chain);
            require_labels(best, chain, "best");
            require(rows.shape(0) == chain.n_rows, "rows needs one id for each row of scores");
            require(best_gain.shape(0) == chain.n_rows, "best_gain needs one row for each row of scores");
            require(samples.shape(0) == chain.n_rows && samples.shape(2) == chain.n_labels &&
                        samples.shape(1) <= best_gain.shape(1),
                    "samples must be rows x at most as many as there are sweeps x labels");
            const chain::GibbsRun run{known.data(),       rows.data(),      seed,          first_draw,
                                      best_gain.shape(1), samples.shape(1), labels.data(), best.data(),
                                      best_gain.data(),   samples.data()};
            interruptibly([&](threads::Interrupt& interrupt) { chain::gibbs(chain, run, n_threads, interrupt); });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("known"), nb::arg("rows"), nb::arg("seed"),
        nb::arg("first_draw"), nb::arg("labels").noconvert(), nb::arg("best").noconvert(),
        nb::arg("best_gain").noconvert(), nb::arg("samples").noconvert(), nb::arg("n_threads") = 1,
        "Resample all labels that are not known, best_gain.shape[1] times, from the state in labels.");
}

using Clock = std::chrono::steady_clock;

Clock::time_point deadline_after(double seconds) {
    // More than a century counts as no limit; converting it would overflow the clock.
    if (!(seconds < 3e9)) return Clock::time_point::max();
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void bind_best_first(nb::module_& m) {
    m.def(
        "chain_search",
        [](Scores scores, Scores coupling, Order order, std::uint64_t budget, double epsilon, double seconds,
           In<double, 1> floor, In<double, 1> log_mass, Out<std::int8_t, 2> labels, Out<double, 1> log_prob,
           Out<double, 1> upper_bound, Out<std::int64_t, 1> nodes, int n_threads, std::size_t max_open) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(epsilon >= 0.0, "epsilon must not be negative");
            for (const std::size_t size :
                 {floor.shape(0), log_mass.shape(0), log_prob.shape(0), upper_bound.shape(0), nodes.shape(0)})
                require(size == chain.n_rows,
                        "floor, log_mass, log_prob, upper_bound and nodes need one entry for each row of scores");
            const chain::SearchLimits limits{budget, max_open, epsilon, deadline_after(seconds)};
            interruptibly([&](threads::Interrupt& interrupt) {
                chain::best_first(chain, limits, floor.data(), log_mass.data(),
                                  {labels.data(), log_prob.data(), upper_bound.data(), nodes.data()}, n_threads,
                                  interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("budget"), nb::arg("epsilon"),
        nb::arg("seconds"), nb::arg("floor"), nb::arg("log_mass"), nb::arg("labels").noconvert(),
        nb::arg("log_prob").noconvert(), nb::arg("upper_bound").noconvert(), nb::arg("nodes").noconvert(),
        nb::arg("n_threads") = 1, nb::arg("max_open") = std::size_t{1} << 20,
        "Replace every -1 in labels so that each row is its most probable vector, as far as the limits allow.");
}

void bind_beam(nb::module_& m) {
    m.def(
        "chain_beam",
        [](Scores scores, Scores coupling, Order order, std::size_t width, Out<std::int8_t, 2> labels,
           Out<double, 1> upper_bound, int n_threads) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(width >= 1 && width <= (std::size_t{1} << 24), "width must be between 1 and 2^24");
            require(upper_bound.shape(0) == chain.n_rows, "upper_bound needs one entry for each row of scores");
            interruptibly([&](threads::Interrupt& interrupt) {
                chain::beam(chain, width, labels.data(), upper_bound.data(), n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("width"), nb::arg("labels").noconvert(),
        nb::arg("upper_bound").noconvert(), nb::arg("n_threads") = 1,
        "Replace every -1 in labels by beam search; upper_bound covers the vectors that were dropped.");
}

void bind_beam_list(nb::module_& m) {
    m.def(
        "chain_beam_list",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> known, std::size_t width,
           Out<std::int8_t, 3> labels, Out<double, 2> log_prob, Out<double, 1> upper_bound, int n_threads) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require(order.shape(0) == chain.n_labels, "order must name every label once");
            require_labels(known, chain, "known");
            require_labels(labels, chain);
            const std::size_t n_best = labels.shape(1);
            require(n_best >= 1 && width >= n_best && width <= (std::size_t{1} << 24),
                    "width must be between the number of vectors to list, at least 1, and 2^24");
            require(log_prob.shape(0) == chain.n_rows && log_prob.shape(1) == n_best,
                    "log_prob needs one entry for each vector in labels");
            require(upper_bound.shape(0) == chain.n_rows, "upper_bound needs one entry for each row of scores");
            interruptibly([&](threads::Interrupt& interrupt) {
                chain::beam_list(chain, width, n_best, known.data(), labels.data(), log_prob.data(), upper_bound.data(),
                                 n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("known"), nb::arg("width"),
        nb::arg("labels").noconvert(), nb::arg("log_prob").noconvert(), nb::arg("upper_bound").noconvert(),
        nb::arg("n_threads") = 1,
        "The best vectors of a beam search that agree with known; upper_bound covers all others.");
}

void bind_relaxed_search(nb::module_& m) {
    m.def(
        "chain_relaxed_search",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> known, std::size_t steps, std::size_t budget,
           Out<std::int8_t, 2> labels, Out<double, 1> log_prob, Out<double, 1> upper_bound, int n_threads) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require_labels(known, chain);
            require_labels(labels, chain);
            for (const std::size_t size : {log_prob.shape(0), upper_bound.shape(0)})
                require(size == chain.n_rows, "log_prob and upper_bound need one entry for each row of scores");
            interruptibly([&](threads::Interrupt& interrupt) {
                chain::relaxed_search(chain, known.data(), {steps, budget},
                                      {labels.data(), log_prob.data(), upper_bound.data()}, n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("known"), nb::arg("steps"), nb::arg("budget"),
        nb::arg("labels").noconvert(), nb::arg("log_prob").noconvert(), nb::arg("upper_bound").noconvert(),
        nb::arg("n_threads") = 1,
        "Replace labels that agree with known by better ones, and bound all such vectors by relaxation and search.");
}

}  // namespace

void bind_chain(nb::module_& m) {
    m.def(
        "chain_log_prob",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> labels, Out<double, 1> log_prob,
           int n_threads) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(log_prob.shape(0) == chain.n_rows, "log_prob needs one entry for each row of scores");
            const ReleasedGil released;
            chain::log_prob(chain, labels.data(), log_prob.data(), n_threads);
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("labels"), nb::arg("log_prob").noconvert(),
        nb::arg("n_threads") = 1, "The log-probability of each row of labels.");
    m.def(
        "conditional_log_prob",
        [](Scores scores, Scores coupling, In<std::int8_t, 2> labels, Out<double, 1> log_prob, int n_threads) {
            const std::size_t n_rows = scores.shape(0), n_labels = scores.shape(1);
            require_coupling(coupling, n_labels);
            require(labels.shape(0) == n_rows && labels.shape(1) == n_labels,
                    "labels must match the rows and columns of scores");
            require(log_prob.shape(0) == n_rows, "log_prob needs one entry for each row of scores");
            const ReleasedGil released;
            chain::conditional_log_prob(scores.data(), coupling.data(), labels.data(), n_rows, n_labels,
                                        log_prob.data(), n_threads);
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("labels"), nb::arg("log_prob").noconvert(),
        nb::arg("n_threads") = 1,
        "The sum of the log-probabilities of the labels of each row, each given its parents.");
    m.def(
        "chain_greedy",
        [](Scores scores, Scores coupling, Order order, Out<std::int8_t, 2> labels, Out<double, 1> log_prob,
           Out<double, 1> upper_bound, int n_threads) {
            const chain::Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(log_prob.shape(0) == chain.n_rows && upper_bound.shape(0) == chain.n_rows,
                    "log_prob and upper_bound need one entry for each row of scores");
            const ReleasedGil released;
            chain::greedy(chain, labels.data(), log_prob.data(), upper_bound.data(), n_threads);
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("labels").noconvert(),
        nb::arg("log_prob").noconvert(), nb::arg("upper_bound").noconvert(), nb::arg("n_threads") = 1,
        "Replace every -1 in labels by the likelier value given the earlier labels.");
    bind_table(m);
    bind_cardinality(m);
    bind_sample(m);
    bind_populations(m);
    bind_gibbs(m);
    bind_best_first(m);
    bind_beam(m);
    bind_beam_list(m);
    bind_relaxed_search(m);
}

}  // namespace labelweave::bind
