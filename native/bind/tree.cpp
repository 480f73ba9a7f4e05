#include "bind/tree_arrays.hpp"
#include "bind/gil.hpp"

namespace labelweave::bind {
namespace {

void bind_vectors(nb::module_& m) {
    m.def(
        "tree_log_prob",
        [](Logits logits, Parents parents, Parents order, In<std::int8_t, 3> labels, Out<double, 2> log_prob,
           int n_threads) {
            const Tree tree = checked_tree(logits, parents, order);
            require_shape(labels, tree, tree.n_labels, "labels");
            require_shape(log_prob, tree, labels.shape(1), "log_prob");
            const ReleasedGil released;
            tree_log_prob(tree, labels.data(), labels.shape(1), log_prob.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("labels"),
        nb::arg("log_prob").noconvert(), nb::arg("n_threads") = 1, "The log-probability of each vector of each row.");
    m.def(
        "tree_mode",
        [](Logits logits, Parents parents, Parents order, Out<std::int8_t, 2> labels, Out<double, 1> log_prob,
           int n_threads) {
            const Tree tree = checked_tree(logits, parents, order);
            require_shape(labels, tree, tree.n_labels, "labels");
            require_shape(log_prob, tree, tree.n_rows, "log_prob");
            const ReleasedGil released;
            tree_mode(tree, labels.data(), log_prob.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("labels").noconvert(),
        nb::arg("log_prob").noconvert(), nb::arg("n_threads") = 1, "The most probable vector of each row.");
    m.def(
        "tree_sample",
        [](Logits logits, Parents parents, Parents order, In<std::int64_t, 1> rows, std::uint64_t seed,
           Out<std::int8_t, 3> labels, int n_threads) {
            const Tree tree = checked_tree(logits, parents, order);
            require_shape(labels, tree, tree.n_labels, "labels");
            require_shape(rows, tree, tree.n_rows, "rows");
            const ReleasedGil released;
            tree_sample(tree, rows.data(), seed, labels.shape(1), labels.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("rows"), nb::arg("seed"),
        nb::arg("labels").noconvert(), nb::arg("n_threads") = 1,
        "Fill labels with draws keyed by (seed, rows[i], draw, label).");
}

void bind_probabilities(nb::module_& m) {
    m.def(
        "tree_marginals",
        [](Logits logits, Parents parents, Parents order, Out<double, 2> out, int n_threads) {
            const Tree tree = checked_tree(logits, parents, order);
            require_shape(out, tree, tree.n_labels, "out");
            const ReleasedGil released;
            tree_marginals(tree, out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("out").noconvert(),
        nb::arg("n_threads") = 1, "P(y_i = 1).");
    m.def(
        "tree_pairwise",
        [](Logits logits, Parents parents, Parents order, Out<double, 3> out, int n_threads) {
            const Tree tree = checked_tree(logits, parents, order);
            require_shape(out, tree, tree.n_labels, "out");
            require(out.shape(1) == tree.n_labels, "out must be rows x labels x labels");
            const ReleasedGil released;
            tree_pairwise(tree, out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("out").noconvert(),
        nb::arg("n_threads") = 1, "P(y_i = 1, y_j = 1).");
    m.def(
        "tree_cardinality",
        [](Logits logits, Parents parents, Parents order, Out<double, 2> out, int n_threads) {
            const Tree tree = checked_tree(logits, parents, order);
            require_shape(out, tree, tree.n_labels + 1, "out");
            const ReleasedGil released;
            tree_cardinality(tree, out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("out").noconvert(),
        nb::arg("n_threads") = 1, "P(|y| = s).");
    m.def(
        "tree_cardinality_by_label",
        [](Logits logits, Parents parents, Parents order, Out<double, 3> out, int n_threads) {
            const Tree tree = checked_tree(logits, parents, order);
            require_shape(out, tree, tree.n_labels + 1, "out");
            require(out.shape(1) == tree.n_labels, "out must be rows x labels x (labels + 1)");
            const ReleasedGil released;
            tree_cardinality_by_label(tree, out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("out").noconvert(),
        nb::arg("n_threads") = 1, "P(y_i = 1, |y| = s).");
}

void bind_evidence(nb::module_& m) {
    m.def(
        "tree_condition",
        [](Logits logits, Parents parents, Parents order, In<std::int8_t, 2> known, Out<double, 3> posterior,
           Out<double, 1> log_prob, int n_threads) {
            const Tree tree = checked_tree(logits, parents, order);
            require_shape(known, tree, tree.n_labels, "known");
            require_shape(posterior, tree, 2, "posterior");
            require(posterior.shape(1) == tree.n_labels, "posterior must have the shape of logits");
            require_shape(log_prob, tree, tree.n_rows, "log_prob");
            const ReleasedGil released;
            tree_condition(tree, known.data(), posterior.data(), log_prob.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("known"), nb::arg("posterior").noconvert(),
        nb::arg("log_prob").noconvert(), nb::arg("n_threads") = 1,
        "The log-odds after the labels in known (-1: unknown) are given, and the evidence's log-probability.");
    m.def(
        "tree_table",
        [](Logits logits, Parents parents, Parents order, In<std::int8_t, 2> known, In<std::int64_t, 1> free,
           Out<double, 2> out, int n_threads) {
            const Tree tree = checked_tree(logits, parents, order);
            require_shape(known, tree, tree.n_labels, "known");
            require(free.shape(0) <= 40, "free names too many labels for a table");
            require_shape(out, tree, std::size_t{1} << free.shape(0), "out");
            std::vector<bool> seen(tree.n_labels, false);
            for (std::size_t t = 0; t < free.shape(0); ++t) {
                const std::int64_t label = free.data()[t];
                require(label >= 0 && static_cast<std::size_t>(label) < tree.n_labels && !seen[label],
                        "free must name labels, each at most once");
                seen[label] = true;
            }
            const ReleasedGil released;
            tree_table(tree, known.data(), free.data(), free.shape(0), out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("known"), nb::arg("free"),
        nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "The log-probability of every vector: bit t of the column is label free[t], the others are known.");
}

}  // namespace

void bind_tree(nb::module_& m) {
    bind_vectors(m);
    bind_probabilities(m);
    bind_evidence(m);
}

}  // namespace labelweave::bind
