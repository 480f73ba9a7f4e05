#include "online/predict.hpp"
#include "online/update.hpp"

#include <algorithm>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "online/truncation_moments.hpp"

namespace labelweave::bind {
namespace {

using Counts = Out<std::int64_t, 1>;
using Weights = std::vector<Out<float, 3>>;

// The arrays of a model, kept alive and checked against each other once; the kernels write into them.
struct BoundModel {
    Weights weights;
    Counts current;
    Out<double, 1> bias_mean, bias_variance;
    Counts positives, observed;
    In<double, 1> skew;
    online::Settings settings;
    online::Model model;

    BoundModel(const Several<Out<float, 3>>& weights_, Counts current_, Out<double, 1> bias_mean_,
               Out<double, 1> bias_variance_, Counts positives_, Counts observed_, std::int64_t n_rows,
               In<double, 1> skew_, const online::Settings& settings_)
        : weights(to_vector<Out<float, 3>>(weights_)), current(current_), bias_mean(bias_mean_),
          bias_variance(bias_variance_), positives(positives_), observed(observed_), skew(skew_), settings(settings_) {
        const std::size_t n_labels = positives.shape(0), n_biases = settings.coupled ? 1 : n_labels;
        require(n_labels > 0, "there must be a label");
        require(current.shape(0) > 0, "there must be a constant feature");
        require(observed.shape(0) == n_labels, "observed needs one entry for each label");
        require(skew.shape(0) == 0 || skew.shape(0) >= n_labels, "skew needs one entry for each label, or none");
        require(bias_mean.shape(0) == n_biases && bias_variance.shape(0) == n_biases,
                "bias_mean and bias_variance need one entry, or one for each label if labels are not coupled");
        model = {{},
                 current.data(),
                 current.shape(0),
                 n_labels,
                 bias_mean.data(),
                 bias_variance.data(),
                 positives.data(),
                 observed.data(),
                 n_rows,
                 skew.shape(0) ? skew.data() : nullptr};
        for (const auto& panel : weights) add_panel(panel);
        require(!model.panels.empty() && model.panels.back().last == online::label_blocks(model),
                "weights must have room for all labels that positives counts");
    }

    void add_panel(const Out<float, 3>& panel) {
        const std::size_t first = model.panels.empty() ? 0 : model.panels.back().last, width = panel.shape(2);
        require(panel.shape(0) == model.n_features && panel.shape(1) == 2 && width % online::kBlock == 0,
                "a panel of weights must be features x 2 x a multiple of 16 labels");
        const std::size_t last = std::min(first + width / online::kBlock, online::label_blocks(model));
        require(first < last, "every panel of weights must have labels that positives counts");
        model.panels.push_back({panel.data(), width, first, last});
    }
};

online::Rows checked_rows(const online::Model& model, In<std::int64_t, 1> indptr, In<std::int32_t, 1> indices,
                          In<double, 1> values) {
    require(indptr.shape(0) > 0 && indptr.data()[0] == 0, "indptr must begin with 0");
    const std::size_t n_rows = indptr.shape(0) - 1;
    for (std::size_t row = 0; row < n_rows; ++row)
        require(indptr.data()[row] <= indptr.data()[row + 1], "indptr must not decrease");
    const std::int64_t n_entries = indptr.data()[n_rows];
    require(static_cast<std::size_t>(n_entries) <= std::min(indices.shape(0), values.shape(0)),
            "indptr points beyond indices or values");
    for (std::int64_t k = 0; k < n_entries; ++k)
        require(indices.data()[k] >= 0 && static_cast<std::size_t>(indices.data()[k]) + 1 < model.n_features,
                "indices must be features of weights");
    return {n_rows, {indptr.data(), indices.data(), values.data()}};
}

void update(BoundModel& bound, In<std::int64_t, 1> indptr, In<std::int32_t, 1> indices, In<double, 1> values,
            In<std::int8_t, 2> labels, In<std::int64_t, 1> predicted, Out<double, 2> z, online::ThreadTuner& tuner,
            int n_threads) {
    const online::Rows rows = checked_rows(bound.model, indptr, indices, values);
    require(labels.shape(0) == rows.n_rows && labels.shape(1) == bound.model.n_labels, "labels must be rows x labels");
    require(z.shape(0) == predicted.shape(0) && z.shape(1) == bound.model.n_labels, "z must be predicted x labels");
    for (std::size_t k = 0; k + 1 < predicted.shape(0); ++k)
        require(predicted.data()[k] < predicted.data()[k + 1], "predicted must increase");
    interruptibly([&](threads::Interrupt& interrupt) {
        online::update(bound.model, bound.settings, rows, labels.data(),
                       {predicted.shape(0), predicted.data(), z.data()}, n_threads, tuner, interrupt);
    });
}

void moments(BoundModel& bound, In<std::int64_t, 1> indptr, In<std::int32_t, 1> indices, In<double, 1> values,
             Out<double, 2> mean, Out<double, 2> variance, int n_threads) {
    const online::Rows rows = checked_rows(bound.model, indptr, indices, values);
    for (const auto& out : {mean, variance})
        require(out.shape(0) == rows.n_rows && out.shape(1) == bound.model.n_labels,
                "mean and variance must be rows x labels");
    interruptibly([&](threads::Interrupt& interrupt) {
        online::moments(bound.model, bound.settings, rows, mean.data(), variance.data(), n_threads, interrupt);
    });
}

void samples(BoundModel& bound, In<std::int64_t, 1> indptr, In<std::int32_t, 1> indices, In<double, 1> values,
             std::uint64_t seed, Out<std::int8_t, 3> above, int n_threads) {
    const online::Rows rows = checked_rows(bound.model, indptr, indices, values);
    require(above.shape(1) == rows.n_rows && above.shape(2) == bound.model.n_labels,
            "above must be samples x rows x labels");
    interruptibly([&](threads::Interrupt& interrupt) {
        online::samples(bound.model, bound.settings, rows, seed, above.shape(0), above.data(), n_threads, interrupt);
    });
}

void touch(BoundModel& bound, In<std::int64_t, 1> indptr, In<std::int32_t, 1> indices, In<double, 1> values) {
    const online::Rows rows = checked_rows(bound.model, indptr, indices, values);
    interruptibly([&](threads::Interrupt&) { online::touch(bound.model, rows); });
}

void bind_settings(nb::module_& m) {
    nb::class_<online::Settings>(m, "OnlineSettings", "How an online model learns; see OnlineState.")
        .def(
            "__init__",
            [](online::Settings* self, bool coupled, bool skew_margin, double margin, double noise,
               double prior_variance, double bias_variance, double label_offset, double flip_probability,
               double forgetting) {
                new (self) online::Settings{coupled,       skew_margin,  margin,           noise,     prior_variance,
                                            bias_variance, label_offset, flip_probability, forgetting};
            },
            nb::kw_only(), nb::arg("coupled"), nb::arg("skew_margin"), nb::arg("margin"), nb::arg("noise"),
            nb::arg("prior_variance"), nb::arg("bias_variance"), nb::arg("label_offset"), nb::arg("flip_probability"),
            nb::arg("forgetting"));
}

}  // namespace

void bind_online(nb::module_& m) {
    bind_settings(m);
    nb::class_<online::ThreadTuner>(m, "ThreadTuner", "Whether threads were found to be worth it.").def(nb::init<>());
    nb::class_<BoundModel>(m, "OnlineModel", "The arrays of an online model, for the kernels to work on.")
        .def(nb::init<const Several<Out<float, 3>>&, Counts, Out<double, 1>, Out<double, 1>, Counts, Counts,
                      std::int64_t, In<double, 1>, const online::Settings&>(),
             nb::arg("weights"), nb::arg("current").noconvert(), nb::arg("bias_mean").noconvert(),
             nb::arg("bias_variance").noconvert(), nb::arg("positives").noconvert(), nb::arg("observed").noconvert(),
             nb::arg("n_rows"), nb::arg("skew"), nb::arg("settings"))
        .def_prop_ro(
            "n_rows", [](const BoundModel& bound) { return bound.model.n_rows; }, "Rows learned from so far.")
        .def("update", &update, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("labels"),
             nb::arg("predicted"), nb::arg("z").noconvert(), nb::arg("tuner"), nb::arg("n_threads") = 1,
             "Learn from rows in turn; labels are 0, 1 or -1 (unknown). Rows named in `predicted` are predicted before "
             "they "
             "are learned from: `z` is how many standard deviations scores exceed the bias.")
        .def("moments", &moments, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("mean").noconvert(),
             nb::arg("variance").noconvert(), nb::arg("n_threads") = 1,
             "Mean and variance of every label's score, without the bias.")
        .def("samples", &samples, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("seed"),
             nb::arg("above").noconvert(), nb::arg("n_threads") = 1,
             "Whether scores exceed the bias under models drawn from the posterior.")
        .def("touch", &touch, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"),
             "Read and write the weights of the rows' features, and nothing else: a yardstick.");
    m.def(
        "truncation_moments",
        [](In<double, 1> d, In<double, 1> margin, double flip_probability, Out<double, 1> shift, Out<double, 1> kept) {
            const std::size_t n = d.shape(0);
            require(margin.shape(0) == n && shift.shape(0) == n && kept.shape(0) == n,
                    "all arrays must be equally long");
            online::truncation_moments(d.data(), margin.data(), n, flip_probability, shift.data(), kept.data());
        },
        nb::arg("d"), nb::arg("margin"), nb::arg("flip_probability"), nb::arg("shift").noconvert(),
        nb::arg("kept").noconvert(),
        "Mean and variance of N(d, 1) truncated to above the margin (below minus the margin where the label is "
        "recorded wrongly), as mean - d and as they are.");
}

}  // namespace labelweave::bind
