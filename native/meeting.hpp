// A place where threads that run in step wait for each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace labelweave {

// Every member calls wait() equally often. What a member wrote before, all see after.
class Meeting {
  public:
    explicit Meeting(std::size_t n_members) : arrivals_(n_members) {}

    void wait(std::size_t member) {
        if (arrivals_.size() == 1) return;
        const std::uint64_t turn = arrivals_[member].count.load(std::memory_order_relaxed) + 1;
        arrivals_[member].count.store(turn, std::memory_order_release);
        for (auto& other : arrivals_)
            for (int spin = 0; other.count.load(std::memory_order_acquire) < turn; ++spin) rest(spin);
    }

  private:
    // On a cache line of its own: others read it while their neighbours write theirs.
    struct alignas(64) Arrival {
        std::atomic<std::uint64_t> count{0};
    };

    static void rest(int spin) {
        if (spin < 100) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else {
            std::this_thread::yield();
        }
    }

    std::vector<Arrival> arrivals_;
};

}  // namespace labelweave
