// Chooses between one thread and several by measuring both, because threads that wait for each other are slow on a busy
// machine.
#pragma once

#include <chrono>
#include <cstddef>

namespace labelweave::online {

// Work comes in chunks whose result does not depend on the number of threads, so both ways can be tried. The faster is
// used; the other is tried again now and then, since other programs come and go.
class ThreadTuner {
  public:
    // The number of threads for the next chunk, which is to be a small one if `trying`.
    std::size_t choose(std::size_t n_threads) {
        if (n_threads != n_threads_) *this = ThreadTuner();
        n_threads_ = n_threads;
        ++n_chunks_;
        // Both alternate at first, because early work is slower: new memory has to be mapped.
        trying_ = n_threads > 1 && (n_chunks_ <= kFirstTrials || n_chunks_ % kTrial == 0);
        const bool by_turns = n_chunks_ % 2 == 1 && n_chunks_ > 1;
        together_ = n_threads > 1 && (n_chunks_ <= kFirstTrials ? by_turns : trying_ != (cost_[1] <= cost_[0]));
        return together_ ? n_threads : 1;
    }

    bool trying() const { return trying_; }

    // How long threads may take for the chunk before it is clear that they get in each other's way.
    std::chrono::duration<double> patience(std::size_t work) const {
        return std::chrono::duration<double>(kPatience * cost_[0] * static_cast<double>(work));
    }

    // What the chunk took, or as much of it as was done.
    void record(std::chrono::steady_clock::duration time, std::size_t work) {
        if (n_chunks_ == 1) return;  // too early to tell
        const double cost = std::chrono::duration<double>(time).count() / static_cast<double>(work);
        double& known = cost_[together_];
        // Other programs can only slow it down, so a short disturbance must not count much.
        known = known == 0.0 || cost < known ? cost : 0.75 * known + 0.25 * cost;
    }

  private:
    static constexpr std::size_t kFirstTrials = 5, kTrial = 6;
    static constexpr double kPatience = 3.0;
    std::size_t n_threads_ = 1, n_chunks_ = 0;
    bool together_ = true, trying_ = false;
    double cost_[2] = {0.0, 0.0};  // seconds a unit of work alone and together; 0: not tried yet
};

}  // namespace labelweave::online
