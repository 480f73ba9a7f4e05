// A forest as Python hands it over: what every kernel that walks one has to check first.
#pragma once

#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "tree/tree.hpp"

namespace labelweave::bind {

using Logits = In<double, 3>;
using Parents = In<std::int64_t, 1>;

inline Tree checked_tree(const Logits& logits, const Parents& parents, const Parents& order) {
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

// The first dimension of an array is the rows, the last one a number of columns.
template <class Array>
void require_shape(const Array& array, const Tree& tree, std::size_t columns, const char* name) {
    if (array.shape(0) == tree.n_rows && array.shape(array.ndim() - 1) == columns) return;
    throw nb::value_error((std::string(name) + " does not match the rows and labels of logits").c_str());
}

}  // namespace labelweave::bind
