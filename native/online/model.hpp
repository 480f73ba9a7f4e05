// Bayesian online learning of linear labels (BOMC): one Gaussian per weight, updated row by row.
//
// Weights lie feature-major in float32, in panels of 64 labels and more: a feature's row of a panel holds the means of
// these labels, then their variances. Learning from a row reads and writes the rows of its non-zero features: that
// memory traffic is the cost, the arithmetic hides behind it. Sums over features are kept in double. Threads share the
// panels; they work on the same features at the same time, and if their labels lay side by side, each core's prefetcher
// would keep taking away lines that the other writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "design/design.hpp"

namespace labelweave::online {

constexpr std::size_t kBlock = 16;  // labels that are always worked on together: one cache line of floats

struct Settings {
    bool coupled = true;  // one bias for all labels, or one for each
    bool skew_margin = true;
    double margin = 1.0, noise = 0.25, prior_variance = 0.1, bias_variance = 1.0;
    double label_offset = 0.5;      // value of a constant feature that coupled labels have; 0: none
    double flip_probability = 0.0;  // how often a label is recorded wrongly
    double forgetting = 0.0;        // share of the evidence that is lost with every row
};

// The weights of the blocks [first, last): n_features x 2 x width. The first feature is the constant one, so that
// column j of X is feature j + 1.
struct Panel {
    float* weights = nullptr;
    std::size_t width = 0, first = 0, last = 0;

    float* of(std::int32_t feature) const { return weights + static_cast<std::size_t>(feature) * 2 * width; }
};

struct Model {
    std::vector<Panel> panels;
    std::int64_t* current = nullptr;  // n_features: the row count up to which a feature has inflate_variance
    std::size_t n_features = 0, n_labels = 0;
    double* bias_mean = nullptr;  // one, or n_labels
    double* bias_variance = nullptr;
    std::int64_t* positives = nullptr;  // n_labels: rows that had the label
    std::int64_t* observed = nullptr;   // n_labels: rows in which it was known
    std::int64_t n_rows = 0;            // rows learned from so far
    const double* skew = nullptr;       // n_labels: what the margin of a label's examples is multiplied by, if known
};

inline std::size_t label_blocks(const Model& model) { return (model.n_labels + kBlock - 1) / kBlock; }

// Call visit(panel, begin, end) for the panels that the blocks [first, last) lie in: `begin` to `end` of their blocks.
template <class Visit>
LABELWEAVE_INLINE void visit_panels(const Model& model, std::size_t first, std::size_t last, Visit&& visit) {
    for (const Panel& panel : model.panels) {
        const std::size_t begin = std::max(first, panel.first), end = std::min(last, panel.last);
        if (begin < end) visit(panel, begin, end);
    }
}

// Features of many rows, every column named once in a row.
struct Rows {
    std::size_t n_rows = 0;
    design::Csr features;
};

}  // namespace labelweave::online
