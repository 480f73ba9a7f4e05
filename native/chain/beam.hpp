// Beam search over the prefixes of a chain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chain/chain.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::chain {

// Beam search: the `width` most probable prefixes survive each label. labels holds the evidence on entry (-1: unknown)
// and the vector found on return; upper_bound covers what was dropped, not the answer itself.
void beam(const Chain& chain, std::size_t width, std::int8_t* labels, double* upper_bound, int n_threads,
          threads::Interrupt& interrupt);

}  // namespace labelweave::chain
