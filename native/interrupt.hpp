// Lets a long native computation be stopped, by Ctrl-C for instance.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

namespace labelweave {

struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

// `poll` is called only from the thread that made the Interrupt, and not more often than every 50 ms.
class Interrupt {
  public:
    explicit Interrupt(std::function<bool()> poll) : poll_(std::move(poll)) {}

    void check() {
        if (std::this_thread::get_id() == owner_) {
            const auto now = std::chrono::steady_clock::now();
            if (now - last_ > std::chrono::milliseconds(50)) {
                last_ = now;
                if (poll_()) stopped_ = true;
            }
        }
        if (stopped_) throw Interrupted();
    }

  private:
    std::function<bool()> poll_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_{false};
};

}  // namespace labelweave
