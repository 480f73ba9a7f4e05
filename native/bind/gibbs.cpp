#include "chain/gibbs.hpp"

#include "bind/chain_arrays.hpp"
#include "bind/gil.hpp"

namespace labelweave::bind {

void bind_gibbs(nb::module_& m) {
    m.def(
        "chain_gibbs",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> known,
           In<std::int64_t, 1> rows, std::uint64_t seed, std::uint32_t first_draw, Out<std::int8_t, 2> labels,
           Out<std::int8_t, 2> best, Out<double, 2> best_gain, Out<std::int8_t, 3> samples, int n_threads) {
            const Chain chain = checked_chain(scores, coupling, order);
            require(order.shape(0) == chain.n_labels, "order must name every label once");
            require_labels(known, chain, "known");
            require_labels(labels, chain);
            require_labels(best, chain, "best");
            require(rows.shape(0) == chain.n_rows, "rows needs one id for each row of scores");
            require(best_gain.shape(0) == chain.n_rows, "best_gain needs one row for each row of scores");
            require(samples.shape(0) == chain.n_rows && samples.shape(2) == chain.n_labels &&
                        samples.shape(1) <= best_gain.shape(1),
                    "samples must be rows x at most as many as there are sweeps x labels");
            const GibbsRun run{known.data(), rows.data(), seed, first_draw, best_gain.shape(1), samples.shape(1),
                               labels.data(), best.data(), best_gain.data(), samples.data()};
            interruptibly([&](Interrupt& interrupt) {
                chain_gibbs(chain, run, n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("known"), nb::arg("rows"),
        nb::arg("seed"), nb::arg("first_draw"), nb::arg("labels").noconvert(), nb::arg("best").noconvert(),
        nb::arg("best_gain").noconvert(), nb::arg("samples").noconvert(), nb::arg("n_threads") = 1,
        "Resample all labels that are not known, best_gain.shape[1] times, from the state in labels.");
}

}  // namespace labelweave::bind
