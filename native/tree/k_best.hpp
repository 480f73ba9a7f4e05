// The most probable label vectors of a forest.
#pragma once

#include "threads/interrupt.hpp"
#include "tree/ranking.hpp"
#include "tree/tree.hpp"

namespace labelweave::tree {

// The n_best most probable vectors of a forest.
void top(const Tree& tree, const RankedVectors& out, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::tree
