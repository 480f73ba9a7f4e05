// A mixture of forests.
#pragma once

#include <cstddef>
#include <vector>

#include "tree/tree.hpp"

namespace labelweave::tree {

// Forests over the same rows and labels, weighted: log_weights is n_rows x K.
struct Mixture {
    std::vector<Tree> trees;
    const double* log_weights;

    std::size_t n_rows() const { return trees[0].n_rows; }
    std::size_t n_labels() const { return trees[0].n_labels; }
};

}  // namespace labelweave::tree
