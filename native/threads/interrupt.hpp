// Lets a long native computation be stopped, by Ctrl-C for instance.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace labelweave::threads {

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
        if (stopped_) leave();
    }

    // Runs a thread's share of the work; the owner then goes on polling until the others are done too. If a share
    // fails, the others end at their next check with the same exception.
    template <class Share>
    void run(Share&& share) {
        const Working working(*this);
        try {
            share();
        } catch (...) {
            stop(std::current_exception());
            throw;
        }
        if (std::this_thread::get_id() != owner_) return;
        std::unique_lock<std::mutex> lock(mutex_);
        while (!left_.wait_for(lock, std::chrono::milliseconds(60), [&] { return n_working_ <= 1; })) check();
    }

  private:
    // Counts the threads at work, whichever way they leave.
    struct Working {
        explicit Working(Interrupt& interrupt) : interrupt_(interrupt) { change(1); }
        ~Working() { change(-1); }
        void change(int by) {
            const std::lock_guard<std::mutex> lock(interrupt_.mutex_);
            interrupt_.n_working_ += by;
            interrupt_.left_.notify_all();
        }
        Interrupt& interrupt_;
    };

    void stop(std::exception_ptr failure) {
        const std::lock_guard<std::mutex> lock(failure_mutex_);
        if (!stopped_) failure_ = std::move(failure);
        stopped_ = true;
    }

    [[noreturn]] void leave() {
        const std::lock_guard<std::mutex> lock(failure_mutex_);
        if (failure_) std::rethrow_exception(failure_);
        throw Interrupted();
    }

    std::mutex mutex_, failure_mutex_;
    std::exception_ptr failure_;  // of the first share that failed
    std::condition_variable left_;
    int n_working_ = 0;
    std::function<bool()> poll_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_{false};
};

}  // namespace labelweave::threads
