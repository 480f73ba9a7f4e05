// The extension module: it only registers what the topic files bind.
#include "arrays.hpp"

namespace labelweave::bind {
void bind_chain(nb::module_& m);
void bind_edges(nb::module_& m);
void bind_field(nb::module_& m);
void bind_gibbs(nb::module_& m);
void bind_logistic(nb::module_& m);
void bind_online(nb::module_& m);
void bind_random(nb::module_& m);
void bind_search(nb::module_& m);
void bind_support_vectors(nb::module_& m);
void bind_text(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_tree_search(nb::module_& m);
}  // namespace labelweave::bind

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels of labelweave.";
    // What a global or a daemon thread still holds at the end is no leak, and no user's concern.
    nanobind::set_leak_warnings(false);
    labelweave::bind::bind_chain(m);
    labelweave::bind::bind_edges(m);
    labelweave::bind::bind_field(m);
    labelweave::bind::bind_gibbs(m);
    labelweave::bind::bind_logistic(m);
    labelweave::bind::bind_online(m);
    labelweave::bind::bind_random(m);
    labelweave::bind::bind_search(m);
    labelweave::bind::bind_support_vectors(m);
    labelweave::bind::bind_text(m);
    labelweave::bind::bind_tree(m);
    labelweave::bind::bind_tree_search(m);
}
