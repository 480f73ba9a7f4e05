// Array types of the binding layer: C-contiguous, on the CPU, dtype checked by nanobind.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace labelweave::bind {

namespace nb = nanobind;

template <class T, int Dims>
using In = nb::ndarray<const T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;
template <class T, int Dims>
using Out = nb::ndarray<T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;

// Kernels trust the sizes they are given, so the binding checks them: a wrong shape is a ValueError here.
inline void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

template <class Array>
using Several = nb::typed<nb::sequence, Array>;

// The arrays of a Python sequence. nanobind's own conversion to a vector must not throw, and would abort without memory
// for it.
template <class Array>
std::vector<Array> to_vector(const Several<Array>& sequence) {
    std::vector<Array> arrays;
    arrays.reserve(nb::len(sequence));
    for (const nb::handle item : sequence) {
        Array array;
        if (!nb::try_cast(item, array, false))
            throw nb::type_error("an array has another type or shape than it must have");
        arrays.push_back(std::move(array));
    }
    return arrays;
}

}  // namespace labelweave::bind
