#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "decision/f_measure.hpp"
#include "decision/independent_f_measure.hpp"

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
    m.def(
        "best_independent_f_measure",
        [](In<double, 2> scores, double beta, Out<std::int8_t, 2> out, int n_threads) {
            const std::size_t n_rows = out.shape(0), n_labels = out.shape(1);
            require(scores.shape(0) == n_rows && scores.shape(1) == n_labels, "scores must be rows x labels");
            require(beta > 0, "beta must be positive");
            interruptibly([&](threads::Interrupt& interrupt) {
                decision::best_independent_f_measure(scores.data(), n_rows, n_labels, beta, out.data(), n_threads,
                                                     interrupt);
            });
        },
        nb::arg("scores"), nb::arg("beta"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "The label vectors of largest expected F-measure for the log-odds of independent labels.");
    m.def(
        "expected_independent_f_measure",
        [](In<double, 2> scores, In<std::int8_t, 2> labels, double beta, Out<double, 1> out, int n_threads) {
            const std::size_t n_rows = scores.shape(0), n_labels = scores.shape(1);
            require(labels.shape(0) == n_rows && labels.shape(1) == n_labels, "labels must be rows x labels");
            require(out.shape(0) == n_rows, "out needs one entry for each row of scores");
            require(beta > 0, "beta must be positive");
            interruptibly([&](threads::Interrupt& interrupt) {
                decision::expected_independent_f_measure(scores.data(), labels.data(), n_rows, n_labels, beta,
                                                         out.data(), n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("labels"), nb::arg("beta"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "The expected F-measures of label vectors for the log-odds of independent labels.");
}

}  // namespace labelweave::bind
