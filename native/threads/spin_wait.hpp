// How one thread waits for another that is about to be ready.
#pragma once

#include <thread>

namespace labelweave::threads {

// Spins first, at full speed and then with pauses that leave the core to its other hyperthread, and yields once it
// takes so long that the other one must have been kept from running.
class SpinWait {
  public:
    constexpr SpinWait(int n_tight, int n_paused) : n_tight_(n_tight), n_spins_(n_tight + n_paused) {}

    void rest() {
        if (n_rests_ >= n_spins_) return std::this_thread::yield();
#if defined(__x86_64__)
        if (n_rests_ >= n_tight_) __builtin_ia32_pause();
#endif
        ++n_rests_;
    }

    // What was waited for has come.
    void reset() { n_rests_ = 0; }

  private:
    int n_tight_, n_spins_, n_rests_ = 0;
};

}  // namespace labelweave::threads
