// The most probable label vectors of a forest.
#pragma once

#include "threads/interrupt.hpp"
#include "tree/ranking.hpp"
#include "tree/tree.hpp"

namespace labelweave {

// The n_best most probable vectors of a forest.
void tree_top(const Tree& tree, const RankedVectors& out, int n_threads, Interrupt& interrupt);

}  // namespace labelweave
