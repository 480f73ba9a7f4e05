// Array types of the binding layer: C-contiguous, on the CPU, dtype checked by nanobind.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>

namespace labelweave::bind {

namespace nb = nanobind;

template <class T, int Dims>
using In = nb::ndarray<const T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;
template <class T, int Dims>
using Out = nb::ndarray<T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;

// Kernels trust their sizes, so the binding proves them: a wrong shape is a ValueError here.
inline void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

// What an Interrupt polls: whether Python has a signal such as Ctrl-C waiting.
inline bool interrupted() {
    nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
}

}  // namespace labelweave::bind
