#include "bind/chain_arrays.hpp"
#include "bind/gil.hpp"

namespace labelweave::bind {
namespace {

// Every walked label has a bit of the column index of its own, or is known in all rows.
void check_slots(const Chain& chain, const std::int8_t* known, const std::int64_t* slot, std::size_t n_columns) {
    std::size_t n_slots = 0;
    while (n_slots < 40 && (std::size_t{1} << n_slots) < n_columns) ++n_slots;
    require(n_columns == std::size_t{1} << n_slots, "out must have a power of two columns");
    std::vector<bool> taken(n_slots, false);
    for (std::size_t p = 0; p < chain.length; ++p) {
        const std::int64_t label = chain.order[p], bit = slot[label];
        if (bit >= 0) {
            require(static_cast<std::size_t>(bit) < n_slots && !taken[bit], "slot must name bits, each once");
            taken[bit] = true;
            continue;
        }
        for (std::size_t i = 0; i < chain.n_rows; ++i)
            require(known[i * chain.n_labels + label] >= 0, "a label without a slot must be known in all rows");
    }
}

void bind_table(nb::module_& m) {
    m.def(
        "chain_table",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> known, Order slot, Out<double, 2> out,
           int n_threads) {
            const Chain chain = checked_chain(scores, coupling, order);
            require_labels(known, chain);
            require(slot.shape(0) == chain.n_labels, "slot needs one entry for each label");
            require(out.shape(0) == chain.n_rows, "out needs one row for each row of scores");
            check_slots(chain, known.data(), slot.data(), out.shape(1));
            const ReleasedGil released;
            chain_table(chain, known.data(), slot.data(), out.shape(1), out.data(), n_threads);
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("known"), nb::arg("slot"),
        nb::arg("out").noconvert(), nb::arg("n_threads") = 1,
        "Fill out[i, column] with the log-probability of the label vector whose bit slot[j] is label j.");
}

void bind_sample(nb::module_& m) {
    m.def(
        "chain_sample",
        [](Scores scores, Scores coupling, Order order, In<std::int64_t, 1> rows, std::uint64_t seed,
           Out<std::int8_t, 3> labels, Out<double, 2> log_weight, int n_threads) {
            const Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(rows.shape(0) == chain.n_rows, "rows needs one id for each row of scores");
            require(log_weight.shape(0) == chain.n_rows && log_weight.shape(1) == labels.shape(1),
                    "log_weight needs one entry for each draw");
            const ReleasedGil released;
            chain_sample(chain, rows.data(), seed, labels.shape(1), labels.data(), log_weight.data(), n_threads);
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("rows"), nb::arg("seed"),
        nb::arg("labels").noconvert(), nb::arg("log_weight").noconvert(), nb::arg("n_threads") = 1,
        "Replace every -1 in labels by a draw keyed by (seed, rows[i], draw, label); weigh the given ones.");
}

}  // namespace

void bind_chain(nb::module_& m) {
    m.def(
        "chain_log_prob",
        [](Scores scores, Scores coupling, Order order, In<std::int8_t, 2> labels, Out<double, 1> log_prob,
           int n_threads) {
            const Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(log_prob.shape(0) == chain.n_rows, "log_prob needs one entry for each row of scores");
            const ReleasedGil released;
            chain_log_prob(chain, labels.data(), log_prob.data(), n_threads);
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("labels"),
        nb::arg("log_prob").noconvert(), nb::arg("n_threads") = 1, "The log-probability of each row of labels.");
    m.def(
        "chain_greedy",
        [](Scores scores, Scores coupling, Order order, Out<std::int8_t, 2> labels, Out<double, 1> log_prob,
           Out<double, 1> upper_bound, int n_threads) {
            const Chain chain = checked_chain(scores, coupling, order);
            require_labels(labels, chain);
            require(log_prob.shape(0) == chain.n_rows && upper_bound.shape(0) == chain.n_rows,
                    "log_prob and upper_bound need one entry for each row of scores");
            const ReleasedGil released;
            chain_greedy(chain, labels.data(), log_prob.data(), upper_bound.data(), n_threads);
        },
        nb::arg("scores"), nb::arg("coupling"), nb::arg("order"), nb::arg("labels").noconvert(),
        nb::arg("log_prob").noconvert(), nb::arg("upper_bound").noconvert(), nb::arg("n_threads") = 1,
        "Replace every -1 in labels by the likelier value given the earlier labels.");
    bind_table(m);
    bind_sample(m);
}

}  // namespace labelweave::bind
