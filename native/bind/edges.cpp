#include "edges/edge_weights.hpp"

#include <cmath>

#include "bind/gil.hpp"
#include "bind/matrix.hpp"

namespace labelweave::bind {
namespace {

// The rows of one side of the split, with everything that belongs to them.
struct Side {
    const Matrix& x;
    const In<std::int8_t, 2>& labels;
    const In<double, 1>& weights;

    design::Design design(std::size_t n_labels) const {
        require(labels.shape(0) == n_labels, "labels of the two sides differ in their number of labels");
        require(weights.shape(0) == labels.shape(1), "weights and labels differ in their number of rows");
        for (std::size_t i = 0; i < weights.shape(0); ++i)
            require(weights.data()[i] >= 0 && std::isfinite(weights.data()[i]),
                    "weights must be finite and not negative");
        return design_of(x, labels.shape(1));
    }
};

}  // namespace

void bind_edges(nb::module_& m) {
    m.def(
        "weigh_edges",
        [](const Matrix& train_x, const Matrix& held_x, In<std::int8_t, 2> train_labels, In<std::int8_t, 2> held_labels,
           In<double, 1> train_weights, In<double, 1> held_weights, In<double, 1> C, In<double, 1> label_penalty,
           In<double, 2> start, In<std::uint8_t, 1> targets, In<std::uint8_t, 2> candidates, double tolerance,
           int max_iterations, int n_threads, Out<double, 1> alone, Out<double, 2> pair,
           Out<std::int32_t, 1> n_failed) {
            edges::Problems p;
            p.n_labels = train_labels.shape(0);
            p.train = Side{train_x, train_labels, train_weights}.design(p.n_labels);
            p.held = Side{held_x, held_labels, held_weights}.design(p.n_labels);
            require(p.train.n_features == p.held.n_features, "the two sides differ in their number of features");
            p.train_labels = train_labels.data();
            p.held_labels = held_labels.data();
            p.train_weights = train_weights.data();
            p.held_weights = held_weights.data();
            const std::size_t L = p.n_labels;
            require(C.shape(0) == L && label_penalty.shape(0) == L, "C and label_penalty need one entry per label");
            for (std::size_t i = 0; i < L; ++i)
                require(C.data()[i] > 0 && std::isfinite(1.0 / C.data()[i]) && label_penalty.data()[i] >= 0 &&
                            std::isfinite(label_penalty.data()[i] / C.data()[i]),
                        "C must be positive, label_penalty finite and not negative");
            p.C = C.data();
            p.label_penalty = label_penalty.data();
            require(start.shape(0) == L && start.shape(1) == p.train.width(), "start must be labels x (features + 1)");
            p.start = start.data();
            require(targets.shape(0) == L && n_failed.shape(0) == L && alone.shape(0) == L,
                    "targets, alone and n_failed need one entry per label");
            for (const std::size_t axis : {0, 1})
                require(candidates.shape(axis) == L && pair.shape(axis) == L,
                        "candidates and pair must be labels x labels");
            p.targets = targets.data();
            p.candidates = candidates.data();
            const edges::Weights out{alone.data(), pair.data(), n_failed.data()};
            interruptibly([&](threads::Interrupt& interrupt) {
                edges::weigh(p, {tolerance, max_iterations, n_threads}, out, interrupt);
            });
        },
        nb::arg("train_x"), nb::arg("held_x"), nb::arg("train_labels"), nb::arg("held_labels"),
        nb::arg("train_weights"), nb::arg("held_weights"), nb::arg("C"), nb::arg("label_penalty"), nb::arg("start"),
        nb::arg("targets"), nb::arg("candidates"), nb::arg("tolerance"), nb::arg("max_iterations"),
        nb::arg("n_threads"), nb::arg("alone").noconvert(), nb::arg("pair").noconvert(),
        nb::arg("n_failed").noconvert(),
        "Weigh every label as the parent of every other; see native/edges/edge_weights.hpp.");
}

}  // namespace labelweave::bind
