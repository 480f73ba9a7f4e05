// Kernels run without the GIL, and ask for it only to look for Ctrl-C and to return.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include "threads/interrupt.hpp"

namespace labelweave::bind {

namespace nb = nanobind;

// Lets other Python threads run while it lives.
//
// At exit, the interpreter unwinds the stacks of daemon threads that ask for the GIL. Frames that must not throw, such
// as destructors and nanobind's frames, would then abort the process, so such a thread waits here until the process has
// ended.
class ReleasedGil {
  public:
    ReleasedGil() : state_(PyEval_SaveThread()) {}
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;
    ~ReleasedGil() { take(); }

    // Whether Python has a signal such as Ctrl-C waiting; only the thread that released the GIL may ask.
    bool interrupted() {
        take();
        const bool signalled = PyErr_CheckSignals() != 0;
        state_ = PyEval_SaveThread();
        return signalled;
    }

  private:
    void take() noexcept {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {
            for (;;) pause();
        }
    }

    PyThreadState* state_;
};

// Run a kernel that Ctrl-C may stop.
template <class Kernel>
void interruptibly(Kernel&& kernel) {
    try {
        ReleasedGil released;
        threads::Interrupt interrupt([&] { return released.interrupted(); });
        kernel(interrupt);
    } catch (const threads::Interrupted&) {
        throw nb::python_error();
    }
}

}  // namespace labelweave::bind
