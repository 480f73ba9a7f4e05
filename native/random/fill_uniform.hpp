// Blocks of keyed uniform numbers for samplers written in NumPy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labelweave::random {

// out[i * n_labels + j] = uniform(seed, rows[i], draw, j).
void fill_uniform(std::uint64_t seed, const std::int64_t* rows, std::size_t n_rows, std::uint32_t draw,
                  std::size_t n_labels, double* out, int n_threads);

}  // namespace labelweave::random
