#include "chain/best_first.hpp"

#include <cmath>

#include "bind/chain_arrays.hpp"
#include "bind/gil.hpp"
#include "chain/relaxed_search.hpp"

namespace labelweave::bind {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point deadline_after(double seconds) {
    // Longer than a century is forever; converting it would overflow the clock.
    if (!(seconds < 3e9)) return Clock::time_point::max();
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void bind_search(nb::module_& m) {
    m.def(
        "chain_search",
        [](Scores scores, Scores coupling, Order order, std::uint64_t budget, double epsilon, double seconds,
           In<double, 1> floor, In<double, 1> log_mass, Out<std::int8_t, 2> labels, Out<double, 1> log_prob,
           Out<double, 1> upper_bound, Out<std::int64_t, 1> nodes, int n_threads, std::size_t max_open) {
            const Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(epsilon >= 0.0, "epsilon must not be negative");
            for (const std::size_t size : {floor.shape(0), log_mass.shape(0), log_prob.shape(0), upper_bound.shape(0),
                                           nodes.shape(0)})
                require(size == chain.n_rows,
                        "floor, log_mass, log_prob, upper_bound and nodes need one entry for each row of scores");
            const SearchLimits limits{budget, max_open, epsilon, deadline_after(seconds)};
            interruptibly([&](Interrupt& interrupt) {
                chain_search(chain, limits, floor.data(), log_mass.data(),
                             {labels.data(), log_prob.data(), upper_bound.data(), nodes.data()}, n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("budget"), nb::arg("epsilon"),
        nb::arg("seconds"), nb::arg("floor"), nb::arg("log_mass"), nb::arg("labels").noconvert(),
        nb::arg("log_prob").noconvert(), nb::arg("upper_bound").noconvert(), nb::arg("nodes").noconvert(),
        nb::arg("n_threads") = 1, nb::arg("max_open") = std::size_t{1} << 20,
        "Replace every -1 in labels so that each row is its most probable vector, as far as the limits allow.");
    m.def(
        "chain_beam",
        [](Scores scores, Scores coupling, Order order, std::size_t width, Out<std::int8_t, 2> labels,
           Out<double, 1> upper_bound, int n_threads) {
            const Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(width >= 1 && width <= (std::size_t{1} << 24), "width must be between 1 and 2^24");
            require(upper_bound.shape(0) == chain.n_rows, "upper_bound needs one entry for each row of scores");
            interruptibly([&](Interrupt& interrupt) {
                chain_beam(chain, width, labels.data(), upper_bound.data(), n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("width"), nb::arg("labels").noconvert(),
        nb::arg("upper_bound").noconvert(), nb::arg("n_threads") = 1,
        "Replace every -1 in labels by beam search; upper_bound covers the vectors that were dropped.");
    m.def(
        "chain_relaxed_search",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> known, std::size_t steps, std::size_t budget,
           Out<std::int8_t, 2> labels, Out<double, 1> log_prob, Out<double, 1> upper_bound, int n_threads) {
            const Chain chain = checked_chain(scores, coupling, order);
            require_labels(known, chain);
            require_labels(labels, chain);
            for (const std::size_t size : {log_prob.shape(0), upper_bound.shape(0)})
                require(size == chain.n_rows, "log_prob and upper_bound need one entry for each row of scores");
            interruptibly([&](Interrupt& interrupt) {
                chain_relaxed_search(chain, known.data(), {steps, budget},
                                     {labels.data(), log_prob.data(), upper_bound.data()}, n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("known"), nb::arg("steps"), nb::arg("budget"),
        nb::arg("labels").noconvert(), nb::arg("log_prob").noconvert(), nb::arg("upper_bound").noconvert(),
        nb::arg("n_threads") = 1,
        "Replace labels that agree with known by better ones, and bound all such vectors by relaxation and search.");
}

}  // namespace labelweave::bind
