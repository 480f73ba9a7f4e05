#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "tree/annealing.hpp"
#include "tree/k_best.hpp"
#include "tree/threshold.hpp"
#include "tree/tree.hpp"

namespace labelweave::bind {
namespace {

// A forest from Python, with the checks that every kernel needs.
using Logits = In<double, 3>;
using Parents = In<std::int64_t, 1>;

tree::Tree checked_tree(const Logits& logits, const Parents& parents, const Parents& order) {
    const std::size_t n_labels = logits.shape(1);
    require(n_labels > 0 && logits.shape(2) == 2, "logits must be rows x labels x 2");
    require(parents.shape(0) == n_labels && order.shape(0) == n_labels,
            "parents and order need one entry for each label");
    std::vector<bool> seen(n_labels, false);
    for (std::size_t t = 0; t < n_labels; ++t) {
        const std::int64_t label = order.data()[t];
        require(label >= 0 && static_cast<std::size_t>(label) < n_labels && !seen[label],
                "order must name every label once");
        const std::int64_t parent = parents.data()[label];
        require(parent == -1 || (parent >= 0 && static_cast<std::size_t>(parent) < n_labels && seen[parent]),
                "order must name every label after its parent");
        seen[label] = true;
    }
    return {logits.data(), parents.data(), order.data(), logits.shape(0), n_labels};
}

// The first dimension of an array counts rows, the last one columns.
template <class Array>
void require_shape(const Array& array, const tree::Tree& tree, std::size_t columns, const char* name) {
    if (array.shape(0) == tree.n_rows && array.shape(array.ndim() - 1) == columns) return;
    throw nb::value_error((std::string(name) + " does not match the rows and labels of logits").c_str());
}

void bind_vectors(nb::module_& m) {
    m.def(
        "tree_log_prob",
        [](Logits logits, Parents parents, Parents order, In<std::int8_t, 3> labels, Out<double, 2> log_prob,
           int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
            require_shape(labels, tree, tree.n_labels, "labels");
            require_shape(log_prob, tree, labels.shape(1), "log_prob");
            const ReleasedGil released;
            tree::log_prob(tree, labels.data(), labels.shape(1), log_prob.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("labels"), nb::arg("log_prob").noconvert(),
        nb::arg("n_threads") = 1, "The log-probability of each vector of each row.");
    m.def(
        "tree_mode",
        [](Logits logits, Parents parents, Parents order, Out<std::int8_t, 2> labels, Out<double, 1> log_prob,
           int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
            require_shape(labels, tree, tree.n_labels, "labels");
            require_shape(log_prob, tree, tree.n_rows, "log_prob");
            const ReleasedGil released;
            tree::mode(tree, labels.data(), log_prob.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("labels").noconvert(),
        nb::arg("log_prob").noconvert(), nb::arg("n_threads") = 1, "The most probable vector of each row.");
    m.def(
        "tree_sample",
        [](Logits logits, Parents parents, Parents order, In<std::int64_t, 1> rows, std::uint64_t seed,
           Out<std::int8_t, 3> labels, int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
            require_shape(labels, tree, tree.n_labels, "labels");
            require_shape(rows, tree, tree.n_rows, "rows");
            const ReleasedGil released;
            tree::sample(tree, rows.data(), seed, labels.shape(1), labels.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("rows"), nb::arg("seed"),
        nb::arg("labels").noconvert(), nb::arg("n_threads") = 1,
        "Fill labels with draws keyed by (seed, rows[i], draw, label).");
}

void bind_probabilities(nb::module_& m) {
    m.def(
        "tree_marginals",
        [](Logits logits, Parents parents, Parents order, Out<double, 2> out, int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
            require_shape(out, tree, tree.n_labels, "out");
            const ReleasedGil released;
            tree::marginals(tree, out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "P(y_i = 1).");
    m.def(
        "tree_pairwise",
        [](Logits logits, Parents parents, Parents order, Out<double, 3> out, int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
            require_shape(out, tree, tree.n_labels, "out");
            require(out.shape(1) == tree.n_labels, "out must be rows x labels x labels");
            const ReleasedGil released;
            tree::pairwise(tree, out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "P(y_i = 1, y_j = 1).");
    m.def(
        "tree_cardinality",
        [](Logits logits, Parents parents, Parents order, Out<double, 2> out, int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
            require_shape(out, tree, tree.n_labels + 1, "out");
            const ReleasedGil released;
            tree::cardinality(tree, out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "P(|y| = s).");
    m.def(
        "tree_cardinality_by_label",
        [](Logits logits, Parents parents, Parents order, Out<double, 3> out, int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
            require_shape(out, tree, tree.n_labels + 1, "out");
            require(out.shape(1) == tree.n_labels, "out must be rows x labels x (labels + 1)");
            const ReleasedGil released;
            tree::cardinality_by_label(tree, out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "P(y_i = 1, |y| = s).");
}

void bind_evidence(nb::module_& m) {
    m.def(
        "tree_condition",
        [](Logits logits, Parents parents, Parents order, In<std::int8_t, 2> known, Out<double, 3> posterior,
           Out<double, 1> log_prob, int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
            require_shape(known, tree, tree.n_labels, "known");
            require_shape(posterior, tree, 2, "posterior");
            require(posterior.shape(1) == tree.n_labels, "posterior must have the shape of logits");
            require_shape(log_prob, tree, tree.n_rows, "log_prob");
            const ReleasedGil released;
            tree::condition(tree, known.data(), posterior.data(), log_prob.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("known"), nb::arg("posterior").noconvert(),
        nb::arg("log_prob").noconvert(), nb::arg("n_threads") = 1,
        "The log-odds after the labels in known (-1: unknown) are given, and the evidence's log-probability.");
    m.def(
        "tree_table",
        [](Logits logits, Parents parents, Parents order, In<std::int8_t, 2> known, In<std::int64_t, 1> free,
           Out<double, 2> out, int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
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
            tree::table(tree, known.data(), free.data(), free.shape(0), out.data(), n_threads);
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("known"), nb::arg("free"),
        nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "The log-probability of every vector: bit t of the column is label free[t], the others are known.");
}

// The arrays of a mixture of trees, kept alive while kernels use them.
struct MixtureArrays {
    std::vector<Logits> logits;
    std::vector<Parents> parents, orders;
};

MixtureArrays to_arrays(const Several<Logits>& logits, const Several<Parents>& parents,
                        const Several<Parents>& orders) {
    return {to_vector<Logits>(logits), to_vector<Parents>(parents), to_vector<Parents>(orders)};
}

tree::Mixture checked_mixture(const MixtureArrays& arrays, const In<double, 2>& log_weights) {
    const auto& [logits, parents, orders] = arrays;
    require(!logits.empty() && parents.size() == logits.size() && orders.size() == logits.size(),
            "logits, parents and orders need one array for each of at least one tree");
    tree::Mixture mixture{{}, log_weights.data()};
    for (std::size_t k = 0; k < logits.size(); ++k) {
        mixture.trees.push_back(checked_tree(logits[k], parents[k], orders[k]));
        require(mixture.trees[k].n_rows == mixture.n_rows() && mixture.trees[k].n_labels == mixture.n_labels(),
                "all trees must have the same rows and labels");
    }
    require_shape(log_weights, mixture.trees[0], logits.size(), "log_weights");
    return mixture;
}

tree::RankedVectors checked_ranked(const tree::Tree& tree, const Out<std::int8_t, 3>& labels,
                                   const Out<double, 2>& log_prob) {
    require_shape(labels, tree, tree.n_labels, "labels");
    require_shape(log_prob, tree, labels.shape(1), "log_prob");
    require(labels.shape(1) > 0, "labels needs room for at least one vector");
    return {labels.shape(1), labels.data(), log_prob.data()};
}

void bind_top(nb::module_& m) {
    m.def(
        "tree_top",
        [](Logits logits, Parents parents, Parents order, Out<std::int8_t, 3> labels, Out<double, 2> log_prob,
           int n_threads) {
            const tree::Tree tree = checked_tree(logits, parents, order);
            const tree::RankedVectors out = checked_ranked(tree, labels, log_prob);
            interruptibly([&](threads::Interrupt& interrupt) { tree::top(tree, out, n_threads, interrupt); });
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("order"), nb::arg("labels").noconvert(),
        nb::arg("log_prob").noconvert(), nb::arg("n_threads") = 1,
        "The labels.shape[1] most probable vectors of each row, decreasing; -1 and -inf where there are fewer.");
}

void bind_threshold(nb::module_& m) {
    m.def(
        "tree_threshold",
        [](const Several<Logits>& logits, const Several<Parents>& parents, const Several<Parents>& orders,
           In<double, 2> log_weights, std::size_t depth, Out<std::int8_t, 3> labels, Out<double, 2> log_prob,
           Out<double, 1> upper_bound, Out<std::int64_t, 1> listed, int n_threads) {
            const MixtureArrays arrays = to_arrays(logits, parents, orders);
            const tree::Mixture mixture = checked_mixture(arrays, log_weights);
            const tree::RankedVectors out = checked_ranked(mixture.trees[0], labels, log_prob);
            require_shape(upper_bound, mixture.trees[0], mixture.n_rows(), "upper_bound");
            require_shape(listed, mixture.trees[0], mixture.n_rows(), "listed");
            interruptibly([&](threads::Interrupt& interrupt) {
                tree::threshold(mixture, depth, out, upper_bound.data(), listed.data(), n_threads, interrupt);
            });
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("orders"), nb::arg("log_weights"), nb::arg("depth"),
        nb::arg("labels").noconvert(), nb::arg("log_prob").noconvert(), nb::arg("upper_bound").noconvert(),
        nb::arg("listed").noconvert(), nb::arg("n_threads") = 1,
        "The most probable vectors of a mixture of trees, and a bound on all others.");
}

void bind_annealing(nb::module_& m) {
    m.def(
        "tree_annealing",
        [](const Several<Logits>& logits, const Several<Parents>& parents, const Several<Parents>& orders,
           In<double, 2> log_weights, In<double, 1> temperatures, In<std::int8_t, 2> known, In<std::int64_t, 1> rows,
           std::uint64_t seed, Out<std::int8_t, 2> labels, int n_threads) {
            const MixtureArrays arrays = to_arrays(logits, parents, orders);
            const tree::Mixture mixture = checked_mixture(arrays, log_weights);
            const tree::Tree& first = mixture.trees[0];
            require_shape(known, first, first.n_labels, "known");
            require_shape(labels, first, first.n_labels, "labels");
            require_shape(rows, first, first.n_rows, "rows");
            const tree::AnnealingRun run{temperatures.data(), temperatures.shape(0), known.data(), rows.data(), seed};
            interruptibly([&](threads::Interrupt& interrupt) {
                tree::anneal(mixture, run, labels.data(), n_threads, interrupt);
            });
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("orders"), nb::arg("log_weights"), nb::arg("temperatures"),
        nb::arg("known"), nb::arg("rows"), nb::arg("seed"), nb::arg("labels").noconvert(), nb::arg("n_threads") = 1,
        "Anneal labels in place: from the start in it to the best vector visited.");
}

}  // namespace

void bind_tree(nb::module_& m) {
    bind_vectors(m);
    bind_probabilities(m);
    bind_evidence(m);
    bind_top(m);
    bind_threshold(m);
    bind_annealing(m);
}

}  // namespace labelweave::bind
