// Whether threads that wait for each other are worth it: on a busy machine they are not.
#pragma once

#include <chrono>
#include <cstddef>

namespace labelweave {

// Work comes in chunks whose result does not depend on the number of threads, so both ways can be tried. The faster is
// used; the other is tried again now and then, since other programs come and go.
class Pace {
  public:
    // The number of threads for the next chunk, which is to be a small one if `trying`.
    std::size_t choose(std::size_t n_threads) {
        if (n_threads != n_threads_) *this = Pace();
        n_threads_ = n_threads;
        together_ = cost_[1] <= cost_[0];
        const std::size_t turn = ++n_chunks_ % kTrial;
        if (turn == 2) together_ = !together_;
        trying_ = n_threads > 1 && (turn == 2 || n_chunks_ == 1);
        return together_ ? n_threads : 1;
    }

    bool trying() const { return trying_; }

    // What the chunk took.
    void record(std::chrono::steady_clock::duration time, std::size_t work) {
        const double cost = std::chrono::duration<double>(time).count() / static_cast<double>(work);
        double& known = cost_[together_];
        known = known == 0.0 ? cost : 0.5 * (known + cost);
    }

  private:
    static constexpr std::size_t kTrial = 16;
    std::size_t n_threads_ = 1, n_chunks_ = 0;
    bool together_ = true, trying_ = false;
    double cost_[2] = {0.0, 0.0};  // seconds a unit of work alone and together; 0: not tried yet
};

}  // namespace labelweave
