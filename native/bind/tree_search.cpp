#include "tree/threshold.hpp"

#include "bind/gil.hpp"
#include "bind/tree_arrays.hpp"

namespace labelweave::bind {
namespace {

// The arrays of a mixture of trees, kept alive while they are worked on.
struct MixtureArrays {
    std::vector<Logits> logits;
    std::vector<Parents> parents, orders;
};

MixtureArrays to_arrays(const Several<Logits>& logits, const Several<Parents>& parents, const Several<Parents>& orders) {
    return {to_vector<Logits>(logits), to_vector<Parents>(parents), to_vector<Parents>(orders)};
}

TreeMixture checked_mixture(const MixtureArrays& arrays, const In<double, 2>& log_weights) {
    const auto& [logits, parents, orders] = arrays;
    require(!logits.empty() && parents.size() == logits.size() && orders.size() == logits.size(),
            "logits, parents and orders need one array for each of at least one tree");
    TreeMixture mixture{{}, log_weights.data()};
    for (std::size_t k = 0; k < logits.size(); ++k) {
        mixture.trees.push_back(checked_tree(logits[k], parents[k], orders[k]));
        require(mixture.trees[k].n_rows == mixture.n_rows() && mixture.trees[k].n_labels == mixture.n_labels(),
                "all trees must have the same rows and labels");
    }
    require_shape(log_weights, mixture.trees[0], logits.size(), "log_weights");
    return mixture;
}

RankedVectors checked_ranked(const Tree& tree, const Out<std::int8_t, 3>& labels, const Out<double, 2>& log_prob) {
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
            const Tree tree = checked_tree(logits, parents, order);
            const RankedVectors out = checked_ranked(tree, labels, log_prob);
            interruptibly([&](Interrupt& interrupt) { tree_top(tree, out, n_threads, interrupt); });
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
            const TreeMixture mixture = checked_mixture(arrays, log_weights);
            const RankedVectors out = checked_ranked(mixture.trees[0], labels, log_prob);
            require_shape(upper_bound, mixture.trees[0], mixture.n_rows(), "upper_bound");
            require_shape(listed, mixture.trees[0], mixture.n_rows(), "listed");
            interruptibly([&](Interrupt& interrupt) {
                tree_threshold(mixture, depth, out, upper_bound.data(), listed.data(), n_threads, interrupt);
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
            const TreeMixture mixture = checked_mixture(arrays, log_weights);
            const Tree& first = mixture.trees[0];
            require_shape(known, first, first.n_labels, "known");
            require_shape(labels, first, first.n_labels, "labels");
            require_shape(rows, first, first.n_rows, "rows");
            const AnnealingRun run{temperatures.data(), temperatures.shape(0), known.data(), rows.data(), seed};
            interruptibly(
                [&](Interrupt& interrupt) { tree_annealing(mixture, run, labels.data(), n_threads, interrupt); });
        },
        nb::arg("logits"), nb::arg("parents"), nb::arg("orders"), nb::arg("log_weights"), nb::arg("temperatures"),
        nb::arg("known"), nb::arg("rows"), nb::arg("seed"), nb::arg("labels").noconvert(), nb::arg("n_threads") = 1,
        "Anneal labels in place: from the start in it to the best vector visited.");
}

}  // namespace

void bind_tree_search(nb::module_& m) {
    bind_top(m);
    bind_threshold(m);
    bind_annealing(m);
}

}  // namespace labelweave::bind
