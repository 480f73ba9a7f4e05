// The number of positive labels of short chains, by walking all prefixes.
#pragma once

#include "chain/chain.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::chain {

// P(|y| = s), rows x (L + 1), and P(y_j = 1, |y| = s), rows x L x (L + 1), of a chain that walks all of its L >= 1
// labels; either may be null. It takes a few operations for each of 2^L vectors, so L should be small.
void cardinality(const Chain& chain, double* cardinality, double* by_label, int n_threads,
                 threads::Interrupt& interrupt);

}  // namespace labelweave::chain
