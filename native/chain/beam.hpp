// Beam search over the prefixes of a chain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chain/chain.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::chain {

// Beam search: the `width` most probable prefixes survive each label. labels holds the evidence on entry (-1: unknown)
// and the vector found on return; upper_bound covers the dropped prefixes, not the vector itself.
void beam(const Chain& chain, std::size_t width, std::int8_t* labels, double* upper_bound, int n_threads,
          threads::Interrupt& interrupt);

// The n_best best vectors of this search that agree with known (n_rows x n_labels, -1 for unknown), in decreasing
// order: labels is n_rows x n_best x n_labels, log_prob n_rows x n_best; missing vectors are -1 and -inf.
// upper_bound covers all vectors that are not listed.
void beam_list(const Chain& chain, std::size_t width, std::size_t n_best, const std::int8_t* known, std::int8_t* labels,
               double* log_prob, double* upper_bound, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::chain
