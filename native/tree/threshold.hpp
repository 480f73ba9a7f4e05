// The most probable label vectors of a mixture of forests, with a bound on all others: a threshold algorithm in the
// sense of Fagin over the lists of the components (math.md, 3.5).
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads/interrupt.hpp"
#include "tree/mixture.hpp"
#include "tree/ranking.hpp"

namespace labelweave::tree {

// The n_best most probable vectors of a mixture: the forests' lists are walked, always the one that contributes
// most to the bound sum_k weight_k P_k(current vector of list k) on all vectors not seen, until the worst of the
// best vectors seen reaches the bound or every list its depth. upper_bound (n_rows) bounds the vectors left out;
// listed (n_rows) counts the vectors taken from lists.
void threshold(const Mixture& mixture, std::size_t depth, const RankedVectors& out, double* upper_bound,
               std::int64_t* listed, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::tree
