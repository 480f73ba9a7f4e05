// The extension module of one level, which registers the bindings of the topic files.
#include "bind/arrays.hpp"

namespace labelweave::bind {
void bind_chain(nb::module_& m);
void bind_decision(nb::module_& m);
void bind_design(nb::module_& m);
void bind_edges(nb::module_& m);
void bind_field(nb::module_& m);
void bind_logistic(nb::module_& m);
void bind_online(nb::module_& m);
void bind_random(nb::module_& m);
void bind_readers(nb::module_& m);
void bind_svm(nb::module_& m);
void bind_tree(nb::module_& m);

const char* compiler_name() {
#if defined(__clang__)
    return __VERSION__;  // begins with clang's name
#else
    return "GCC " __VERSION__;
#endif
}
}  // namespace labelweave::bind

NB_MODULE(LABELWEAVE_MODULE, m) {
    m.doc() = "Compiled kernels of labelweave.";
    m.def("level", [] { return LABELWEAVE_LEVEL; }, "The SIMD level that this module is compiled for.");
    m.def("compiler", labelweave::bind::compiler_name, "The compiler that made this module.");
    // Objects that a global or a daemon thread still holds at exit are no leak, so users get no warning.
    nanobind::set_leak_warnings(false);
    labelweave::bind::bind_decision(m);
    labelweave::bind::bind_design(m);
    labelweave::bind::bind_chain(m);
    labelweave::bind::bind_edges(m);
    labelweave::bind::bind_field(m);
    labelweave::bind::bind_logistic(m);
    labelweave::bind::bind_online(m);
    labelweave::bind::bind_random(m);
    labelweave::bind::bind_readers(m);
    labelweave::bind::bind_svm(m);
    labelweave::bind::bind_tree(m);
}
