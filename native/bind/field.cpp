#include "field/annealed_importance.hpp"

#include "bind/arrays.hpp"
#include "bind/gil.hpp"

namespace labelweave::bind {

void bind_field(nb::module_& m) {
    m.def(
        "field_anneal",
        [](In<double, 2> scores, In<double, 2> inside, In<double, 2> outside, In<std::int8_t, 2> known,
           In<std::int64_t, 1> rows, In<std::uint64_t, 1> seeds, Out<std::int8_t, 3> labels, Out<double, 2> log_weight,
           int n_threads) {
            const std::size_t n_rows = scores.shape(0), n_labels = scores.shape(1), n_draws = labels.shape(1);
            for (const auto* coupling : {&inside, &outside})
                require(coupling->shape(0) == n_labels && coupling->shape(1) == n_labels,
                        "inside and outside must be labels x labels");
            require(known.shape(0) == n_rows && known.shape(1) == n_labels, "known must have the shape of scores");
            require(rows.shape(0) == n_rows, "rows needs one id for each row of scores");
            require(labels.shape(0) == n_rows && labels.shape(2) == n_labels, "labels must be rows x draws x labels");
            require(log_weight.shape(0) == n_rows && log_weight.shape(1) == n_draws, "log_weight must be rows x draws");
            const field::Field field{scores.data(), inside.data(), outside.data(), known.data(), n_rows, n_labels};
            interruptibly([&](threads::Interrupt& interrupt) {
                field::anneal(field, rows.data(), seeds.data(), seeds.shape(0), n_draws, labels.data(),
                              log_weight.data(), n_threads, interrupt);
            });
        },
        nb::arg("scores"), nb::arg("inside"), nb::arg("outside"), nb::arg("known"), nb::arg("rows"), nb::arg("seeds"),
        nb::arg("labels").noconvert(), nb::arg("log_weight").noconvert(), nb::arg("n_threads") = 1,
        "Anneal draws from the inside couplings to all of them, in place, and fill in their log-weights.");
}

}  // namespace labelweave::bind
