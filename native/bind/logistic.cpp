#include "logistic/solver.hpp"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "bind/gil.hpp"
#include "bind/matrix.hpp"

namespace labelweave::bind {
namespace {

void check_rows(const In<std::int32_t, 1>& rows, std::size_t n_problems, std::size_t limit, const char* message) {
    require(rows.shape(0) == n_problems, message);
    for (std::size_t k = 0; k < n_problems; ++k)
        require(rows.data()[k] >= 0 && static_cast<std::size_t>(rows.data()[k]) < limit, message);
}

}  // namespace

void bind_logistic(nb::module_& m) {
    m.def(
        "solve_logistic",
        [](const Matrix& x, std::optional<const Matrix*> extras, In<std::int8_t, 2> labels,
           std::optional<In<double, 2>> shares, In<std::int32_t, 1> target, std::optional<In<double, 2>> weights,
           std::optional<In<std::int32_t, 1>> weight, std::optional<In<double, 1>> total, In<double, 2> C,
           In<double, 2> extra_penalty, std::optional<In<std::uint8_t, 2>> extra_mask,
           std::optional<In<double, 2>> start, In<double, 1> start_intercept, double tolerance, int max_newton,
           int patience, int n_threads, std::size_t largest_transpose, std::optional<Out<double, 2>> coef,
           Out<double, 2> objective, Out<double, 2> held_out, Out<std::int32_t, 1> passes,
           Out<std::uint8_t, 1> converged) {
            logistic::Problems p;
            const std::size_t n = labels.shape(1), k = target.shape(0), stages = C.shape(1);
            p.design = design_of(x, n);
            if (extras && *extras) {
                const Matrix& e = **extras;
                require(e.indptr && e.indptr->shape(0) == n + 1, "extras must be CSR with as many rows as X");
                p.design.n_extras = e.n_columns;
                p.design.extras = {e.indptr->data(), e.indices->data(), e.values->data()};
            }
            p.targets.labels = labels.data();
            p.targets.n_labels = labels.shape(0);
            if (shares) {
                require(shares->shape(1) == n, "shares and labels differ in their number of rows");
                p.targets.shares = shares->data();
            }
            p.n_problems = k;
            p.n_stages = stages;
            check_rows(target, k, labels.shape(0) + (shares ? shares->shape(0) : 0),
                       "target must name a row of labels or shares for every problem");
            p.target = target.data();
            if (weights) {
                require(weights->shape(1) == n, "weights and labels differ in their number of rows");
                require(weight.has_value(), "weight must name a row of weights for every problem");
                check_rows(*weight, k, weights->shape(0), "weight must name a row of weights for every problem");
                p.targets.weights = weights->data();
                p.weight = weight->data();
            }
            if (total) {
                require(total->shape(0) == n, "total needs one entry per row");
                p.targets.total = total->data();
            }
            require(C.shape(0) == k && stages > 0, "C needs one row per problem and one column per stage");
            require(extra_penalty.shape(0) == k && extra_penalty.shape(1) == stages,
                    "extra_penalty and C differ in shape");
            for (std::size_t i = 0; i < k * stages; ++i)
                require(C.data()[i] > 0 && std::isfinite(1.0 / C.data()[i]) && extra_penalty.data()[i] >= 0 &&
                            std::isfinite(extra_penalty.data()[i] / C.data()[i]),
                        "C must be positive, extra_penalty finite and not negative");
            p.C = C.data();
            p.extra_penalty = extra_penalty.data();
            const std::size_t width = p.design.width();
            if (extra_mask) {
                require(extra_mask->shape(0) == k && extra_mask->shape(1) == p.design.n_extras,
                        "extra_mask must be problems x extras");
                p.extra_mask = extra_mask->data();
            }
            if (start) {
                require(start->shape(0) == k && start->shape(1) == width, "start must be problems x columns");
                p.start = start->data();
            }
            require(start_intercept.shape(0) == k, "start_intercept needs one entry per problem");
            p.start_intercept = start_intercept.data();
            require(!coef || (coef->shape(0) == k && coef->shape(1) == width), "coef must be problems x columns");
            require(objective.shape(0) == k && objective.shape(1) == stages, "objective must be problems x stages");
            require(held_out.shape(0) == k && held_out.shape(1) == stages, "held_out must be problems x stages");
            require(passes.shape(0) == k && converged.shape(0) == k, "passes and converged need one entry per problem");
            const logistic::Solutions out{coef ? coef->data() : nullptr, objective.data(), held_out.data(),
                                          passes.data(), converged.data()};
            interruptibly([&](threads::Interrupt& interrupt) {
                logistic::solve(p, {tolerance, max_newton, patience, n_threads, largest_transpose}, out, interrupt);
            });
        },
        nb::arg("x"), nb::arg("extras").none(), nb::arg("labels"), nb::arg("shares").none(), nb::arg("target"),
        nb::arg("weights").none(), nb::arg("weight").none(), nb::arg("total").none(), nb::arg("C"),
        nb::arg("extra_penalty"), nb::arg("extra_mask").none(), nb::arg("start").none(), nb::arg("start_intercept"),
        nb::arg("tolerance"), nb::arg("max_newton"), nb::arg("patience"), nb::arg("n_threads"),
        nb::arg("largest_transpose"), nb::arg("coef").none().noconvert(), nb::arg("objective").noconvert(),
        nb::arg("held_out").noconvert(), nb::arg("passes").noconvert(), nb::arg("converged").noconvert(),
        "Solve many logistic problems over one design along paths of penalties; see native/logistic/solver.hpp.");
}

}  // namespace labelweave::bind
