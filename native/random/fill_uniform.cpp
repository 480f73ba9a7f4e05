#include "random/fill_uniform.hpp"

#include "random/philox.hpp"
#include "threads/parallel.hpp"

namespace labelweave::random {

void fill_uniform(std::uint64_t seed, const std::int64_t* rows, std::size_t n_rows, std::uint32_t draw,
                  std::size_t n_labels, double* out, int n_threads) {
    threads::parallel_rows(n_rows, 256, n_threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t j = 0; j < n_labels; ++j)
                out[i * n_labels + j] =
                    uniform(seed, static_cast<std::uint64_t>(rows[i]), draw, static_cast<std::uint32_t>(j));
    });
}

}  // namespace labelweave::random
