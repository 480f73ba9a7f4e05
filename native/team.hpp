// A few threads that work on many short tasks in turn, without being started anew for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace labelweave {

class Team {
  public:
    explicit Team(int n_members) {
        for (int k = 1; k < n_members; ++k) helpers_.emplace_back([this] { serve(); });
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() {
        stop_ = true;
        epoch_.fetch_add(1);
        for (auto& helper : helpers_) helper.join();
    }

    // Call task(i) for i in [0, n_tasks) on all members, this thread included; tasks must not throw.
    void run(std::size_t n_tasks, const std::function<void(std::size_t)>& task) {
        if (helpers_.empty()) {
            for (std::size_t i = 0; i < n_tasks; ++i) task(i);
            return;
        }
        task_ = &task;
        n_tasks_ = n_tasks;
        next_.store(0);
        n_working_.store(static_cast<int>(helpers_.size()));
        epoch_.fetch_add(1);
        work();
        for (int turn = 0; n_working_.load() > 0; ++turn) rest(turn);
    }

  private:
    void work() {
        for (std::size_t i; (i = next_.fetch_add(1)) < n_tasks_;) (*task_)(i);
    }

    void serve() {
        for (std::size_t seen = 0;;) {
            for (int turn = 0; epoch_.load() == seen; ++turn) rest(turn);
            ++seen;
            if (stop_) return;
            work();
            n_working_.fetch_sub(1);
        }
    }

    // Tasks follow each other within microseconds: wait without sleeping, but let others run.
    static void rest(int turn) {
        if (turn < 2000) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else {
            std::this_thread::yield();
        }
    }

    const std::function<void(std::size_t)>* task_ = nullptr;
    std::size_t n_tasks_ = 0;
    std::atomic<std::size_t> next_{0}, epoch_{0};
    std::atomic<int> n_working_{0};
    std::atomic<bool> stop_{false};
    std::vector<std::thread> helpers_;
};

}  // namespace labelweave
