#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "decision/f_measure.hpp"

namespace labelweave::bind {

void bind_decision(nb::module_& m) {
    m.def(
        "best_f_measure",
        [](In<double, 3> by_label, In<double, 2> cardinality, double beta, Out<std::int8_t, 2> out, int n_threads) {
            const std::size_t n_rows = out.shape(0), n_labels = out.shape(1);
            require(by_label.shape(0) == n_rows && by_label.shape(1) == n_labels && by_label.shape(2) == n_labels + 1,
                    "by_label must be rows x labels x (labels + 1)");
            require(cardinality.shape(0) == n_rows && cardinality.shape(1) == n_labels + 1,
                    "cardinality must be rows x (labels + 1)");
            require(beta > 0, "beta must be positive");
            interruptibly([&](threads::Interrupt& interrupt) {
                decision::best_f_measure(by_label.data(), cardinality.data(), n_rows, n_labels, beta, out.data(),
                                         n_threads, interrupt);
            });
        },
        nb::arg("by_label"), nb::arg("cardinality"), nb::arg("beta"), nb::arg("out").noconvert(),
        nb::arg("n_threads") = 1, "The label vectors of largest expected F-measure.");
}

}  // namespace labelweave::bind
