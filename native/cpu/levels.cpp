// The extension module labelweave._cpu: which levels of the instruction set this CPU and its operating system have.
// It is written against Python's own interface, since it must run on any CPU before a level is chosen.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace {

// The levels in ascending order. Not every feature that defines a level can be asked for with every compiler; those
// asked for here came with the rest of their level in all CPUs there are.
PyObject* levels(PyObject*, PyObject*) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4) return Py_BuildValue("(sss)", "v2", "v3", "v4");
    if (v3) return Py_BuildValue("(ss)", "v2", "v3");
    if (v2) return Py_BuildValue("(s)", "v2");
    return PyTuple_New(0);
#elif defined(__aarch64__)
    return Py_BuildValue("(s)", "neon");
#else
    return Py_BuildValue("(s)", "plain");
#endif
}

PyMethodDef methods[] = {
    {"levels", levels, METH_NOARGS, "levels() -> tuple[str, ...]: what this CPU has, the best level last."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    "_cpu",
    "Levels of the CPU's instruction set.",
    0,
    methods,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__cpu() { return PyModule_Create(&module); }
