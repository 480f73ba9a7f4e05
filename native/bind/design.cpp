#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "bind/matrix.hpp"
#include "design/linear_scores.hpp"

namespace labelweave::bind {

void bind_design(nb::module_& m) {
    nb::class_<Matrix>(m, "Matrix", "A design matrix the kernels can read: dense, or CSR with its number of columns.")
        .def(
            "__init__", [](Matrix* self, In<double, 2> dense) { new (self) Matrix{dense, {}, {}, {}, dense.shape(1)}; },
            nb::arg("dense"))
        .def(
            "__init__",
            [](Matrix* self, Indptr indptr, Indices indices, Values values, std::size_t n_columns) {
                require(indptr.shape(0) >= 1, "indptr must not be empty");
                checked_csr(indptr, indices, values, indptr.shape(0) - 1, n_columns);
                new (self) Matrix{{}, indptr, indices, values, n_columns};
            },
            nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("n_columns"));

    m.def(
        "linear_scores",
        [](const Matrix& x, In<double, 2> weights, In<double, 1> intercept, Out<double, 2> scores, int n_threads) {
            const design::Design design = design_of(x, scores.shape(0));
            require(weights.shape(1) == x.n_columns, "weights and X differ in their number of features");
            require(weights.shape(0) == scores.shape(1) && intercept.shape(0) == scores.shape(1),
                    "weights, intercept and scores differ in their number of outputs");
            const ReleasedGil released;
            design::linear_scores(design, weights.data(), intercept.data(), scores.shape(1), scores.data(), n_threads);
        },
        nb::arg("x"), nb::arg("weights"), nb::arg("intercept"), nb::arg("scores").noconvert(), nb::arg("n_threads"),
        "Fill scores with X weights' + intercept.");
}

}  // namespace labelweave::bind
