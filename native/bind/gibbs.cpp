#include "gibbs.hpp"

#include <vector>

#include "arrays.hpp"

namespace labelweave::bind {
namespace {

bool interrupted() {
    nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
}

void check_order(const In<std::int64_t, 1>& order, std::size_t n_labels) {
    require(order.shape(0) == n_labels, "order must name every label once");
    std::vector<bool> seen(n_labels, false);
    for (std::size_t p = 0; p < n_labels; ++p) {
        const std::int64_t label = order.data()[p];
        require(label >= 0 && static_cast<std::size_t>(label) < n_labels && !seen[label],
                "order must name every label once");
        seen[label] = true;
    }
}

template <class Array>
bool is_rows_by_labels(const Array& array, const Chain& chain) {
    return array.shape(0) == chain.n_rows && array.shape(1) == chain.n_labels;
}

}  // namespace

void bind_gibbs(nb::module_& m) {
    m.def(
        "chain_gibbs",
        [](In<double, 2> scores, In<double, 2> coupling, In<std::int64_t, 1> order, In<std::int8_t, 2> known,
           In<std::int64_t, 1> rows, std::uint64_t seed, std::uint32_t first_draw, Out<std::int8_t, 2> labels,
           Out<std::int8_t, 2> best, Out<double, 2> best_gain, Out<std::int8_t, 3> samples, int n_threads) {
            const Chain chain{scores.data(), coupling.data(), order.data(), scores.shape(0), scores.shape(1),
                              scores.shape(1)};
            require(coupling.shape(0) == chain.n_labels && coupling.shape(1) == chain.n_labels,
                    "coupling must be labels x labels");
            check_order(order, chain.n_labels);
            require(is_rows_by_labels(known, chain) && is_rows_by_labels(labels, chain) &&
                        is_rows_by_labels(best, chain),
                    "known, labels and best must match the rows and columns of scores");
            require(rows.shape(0) == chain.n_rows, "rows needs one id for each row of scores");
            require(best_gain.shape(0) == chain.n_rows, "best_gain needs one row for each row of scores");
            require(samples.shape(0) == chain.n_rows && samples.shape(2) == chain.n_labels &&
                        samples.shape(1) <= best_gain.shape(1),
                    "samples must be rows x at most as many as there are sweeps x labels");
            const GibbsRun run{known.data(), rows.data(), seed, first_draw, best_gain.shape(1), samples.shape(1),
                               labels.data(), best.data(), best_gain.data(), samples.data()};
            try {
                nb::gil_scoped_release release;
                Interrupt interrupt(interrupted);
                chain_gibbs(chain, run, n_threads, interrupt);
            } catch (const Interrupted&) {
                throw nb::python_error();
            }
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("known"), nb::arg("rows"),
        nb::arg("seed"), nb::arg("first_draw"), nb::arg("labels").noconvert(), nb::arg("best").noconvert(),
        nb::arg("best_gain").noconvert(), nb::arg("samples").noconvert(), nb::arg("n_threads") = 1,
        "Resample all labels that are not known, best_gain.shape[1] times, from the state in labels.");
}

}  // namespace labelweave::bind
