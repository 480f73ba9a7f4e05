#include "random/fill_uniform.hpp"

#include "bind/arrays.hpp"
#include "bind/gil.hpp"

namespace labelweave::bind {

void bind_random(nb::module_& m) {
    m.def(
        "fill_uniform",
        [](std::uint64_t seed, In<std::int64_t, 1> rows, std::uint32_t draw, Out<double, 2> out, int n_threads) {
            require(out.shape(0) == rows.shape(0), "out needs one row for each entry of rows");
            const ReleasedGil released;
            random::fill_uniform(seed, rows.data(), rows.shape(0), draw, out.shape(1), out.data(), n_threads);
        },
        nb::arg("seed"), nb::arg("rows"), nb::arg("draw"), nb::arg("out"), nb::arg("n_threads") = 1,
        "Fill out[i, j] with the uniform number in (0, 1) that belongs to (seed, rows[i], draw, j).");
}

}  // namespace labelweave::bind
