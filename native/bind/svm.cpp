#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "bind/gil.hpp"
#include "bind/matrix.hpp"
#include "svm/lasvm.hpp"
#include "svm/passive_aggressive.hpp"

namespace labelweave::bind {
namespace {

std::size_t rows_of(const Matrix& x) { return x.dense ? x.dense->shape(0) : x.indptr->shape(0) - 1; }

void check_order(const std::int64_t* order, std::size_t n, std::size_t n_rows) {
    for (std::size_t t = 0; t < n; ++t)
        require(order[t] >= 0 && static_cast<std::size_t>(order[t]) < n_rows, "order names a row that does not exist");
}

void check_limits(const In<double, 1>& limits, std::size_t n_rows) {
    require(limits.shape(0) == n_rows, "limits needs one entry per row");
    for (std::size_t row = 0; row < n_rows; ++row)
        require(limits.data()[row] > 0 && std::isfinite(limits.data()[row]), "limits must be positive and finite");
}

svm::KernelFunction checked_kernel(std::optional<double> gamma) {
    require(!gamma || (*gamma > 0 && std::isfinite(*gamma)), "gamma must be positive and finite");
    return {gamma.has_value(), gamma.value_or(0.0)};
}

void learn_passive_aggressive(const Matrix& x, In<std::int8_t, 2> labels, In<double, 1> limits,
                              In<std::int64_t, 1> order, bool intercept, Out<double, 2> weights,
                              std::optional<Out<double, 2>> scores, int n_threads) {
    svm::PassiveAggressive problem;
    const std::size_t n = labels.shape(0);
    problem.design = design_of(x, n);
    problem.n_labels = labels.shape(1);
    problem.width = weights.shape(1);
    require(problem.n_labels > 0, "there must be a label");
    require(weights.shape(0) == x.n_columns + 1 && problem.width % kLanes == 0 &&
                problem.width / kLanes == (problem.n_labels + kLanes - 1) / kLanes,
            "weights must be one more than features x labels rounded up to a multiple of 8");
    check_limits(limits, n);
    check_order(order.data(), order.shape(0), n);
    require(!scores || (scores->shape(0) == order.shape(0) && scores->shape(1) == problem.n_labels),
            "scores must be length of order x labels");
    problem.labels = labels.data();
    problem.limits = limits.data();
    problem.order = order.data();
    problem.n_steps = order.shape(0);
    problem.intercept = intercept;
    problem.weights = weights.data();
    problem.scores = scores ? scores->data() : nullptr;
    interruptibly([&](threads::Interrupt& interrupt) { svm::passive_aggressive(problem, n_threads, interrupt); });
}

// Every label needs positive and negative rows: with one class only there are no pairs.
void check_kinds(const In<std::int8_t, 2>& labels) {
    const std::size_t n = labels.shape(0), n_labels = labels.shape(1);
    for (std::size_t label = 0; label < n_labels; ++label) {
        bool seen[2] = {};
        for (std::size_t row = 0; row < n; ++row) {
            const std::int8_t value = labels.data()[row * n_labels + label];
            require(value == 0 || value == 1, "labels must be 0 or 1");
            seen[value] = true;
        }
        require(seen[0] && seen[1], "every label needs rows with it and rows without it");
    }
}

using Solution = std::tuple<std::vector<std::int32_t>, std::vector<double>, double, double, bool>;

// The sums of alpha_i x_i go directly into `weights`; if it is missing, the kernel has no sums of this kind.
std::vector<Solution> learn_lasvm(const Matrix& x, In<std::int8_t, 2> labels, In<double, 1> limits,
                                  In<std::int64_t, 2> order, std::optional<double> gamma, double tolerance,
                                  std::int64_t max_steps, std::size_t room, std::optional<Out<double, 2>> weights,
                                  int n_threads) {
    svm::LasvmProblem problem;
    const std::size_t n = labels.shape(0);
    require(n < std::numeric_limits<std::int32_t>::max(), "there are too many rows");
    problem.design = design_of(x, n);
    problem.kernel = checked_kernel(gamma);
    problem.n_labels = labels.shape(1);
    problem.n_passes = order.shape(0);
    require(order.shape(1) == n && problem.n_passes > 0, "order must be passes x rows");
    check_order(order.data(), problem.n_passes * n, n);
    check_limits(limits, n);
    check_kinds(labels);
    require(tolerance > 0, "tolerance must be positive");
    require(weights.has_value() != problem.kernel.rbf, "weights are for the linear kernel");
    require(!weights || (weights->shape(0) == problem.n_labels && weights->shape(1) == x.n_columns),
            "weights must be labels x features");
    problem.labels = labels.data();
    problem.limits = limits.data();
    problem.order = order.data();
    problem.tolerance = tolerance;
    problem.max_steps = max_steps;
    problem.room = room;
    std::vector<svm::LasvmSolution> solved;
    interruptibly([&](threads::Interrupt& interrupt) { solved = svm::lasvm(problem, n_threads, interrupt); });
    std::vector<Solution> solutions;
    for (std::size_t label = 0; label < solved.size(); ++label) {
        auto& s = solved[label];
        if (weights) std::copy(s.weights.begin(), s.weights.end(), weights->data() + label * x.n_columns);
        solutions.emplace_back(std::move(s.support), std::move(s.alpha), s.intercept, s.objective, s.converged);
    }
    return solutions;
}

}  // namespace

void bind_svm(nb::module_& m) {
    m.def("passive_aggressive", &learn_passive_aggressive, nb::arg("x"), nb::arg("labels"), nb::arg("limits"),
          nb::arg("order"), nb::arg("intercept"), nb::arg("weights").noconvert(), nb::arg("scores").none().noconvert(),
          nb::arg("n_threads"),
          "Learn from the rows in their order; scores get what each row was given before it was learned.");
    m.def("lasvm", &learn_lasvm, nb::arg("x"), nb::arg("labels"), nb::arg("limits"), nb::arg("order"),
          nb::arg("gamma").none(), nb::arg("tolerance"), nb::arg("max_steps"), nb::arg("room"),
          nb::arg("weights").none().noconvert(), nb::arg("n_threads"),
          "Online support vector machines, RBF if there is a gamma: (support, alpha, intercept, objective, converged) "
          "of each label.");
    m.def(
        "kernel_matrix",
        [](const Matrix& a, const Matrix& b, double gamma, Out<double, 2> out, int n_threads) {
            require(a.n_columns == b.n_columns, "a and b differ in their number of features");
            require(out.shape(0) == rows_of(a) && out.shape(1) == rows_of(b), "out must be rows of a x rows of b");
            const design::Design da = design_of(a, rows_of(a)), db = design_of(b, rows_of(b));
            const svm::KernelFunction kernel = checked_kernel(gamma);
            const ReleasedGil released;
            svm::kernel_matrix(da, db, kernel, out.data(), n_threads);
        },
        nb::arg("a"), nb::arg("b"), nb::arg("gamma"), nb::arg("out").noconvert(), nb::arg("n_threads"),
        "Fill out with exp(-gamma |a_i - b_j|^2).");
}

}  // namespace labelweave::bind
