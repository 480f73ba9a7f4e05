// A chain as Python hands it over: what every kernel that walks one has to check first.
#pragma once

#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "chain/chain.hpp"

namespace labelweave::bind {

using Scores = In<double, 2>;
using Order = In<std::int64_t, 1>;
// Arrays written to are bound with noconvert(): a converted copy would swallow the result.

inline Chain checked_chain(const Scores& scores, const Scores& coupling, const Order& order) {
    const std::size_t n_labels = scores.shape(1);
    require(coupling.shape(0) == n_labels && coupling.shape(1) == n_labels, "coupling must be labels x labels");
    std::vector<bool> seen(n_labels, false);
    for (std::size_t p = 0; p < order.shape(0); ++p) {
        const std::int64_t label = order.data()[p];
        require(label >= 0 && static_cast<std::size_t>(label) < n_labels && !seen[label],
                "order must name labels, each at most once");
        seen[label] = true;
    }
    return {scores.data(), coupling.data(), order.data(), scores.shape(0), n_labels, order.shape(0)};
}

template <class Array>
void require_labels(const Array& labels, const Chain& chain, const char* name = "labels") {
    if (labels.shape(0) == chain.n_rows && labels.shape(labels.ndim() - 1) == chain.n_labels) return;
    throw nb::value_error((std::string(name) + " must match the rows and columns of scores").c_str());
}

}  // namespace labelweave::bind
