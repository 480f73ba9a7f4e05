// A few threads that work on many short tasks in turn, without being started anew for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "threads/parallel.hpp"
#include "threads/spin_wait.hpp"

namespace labelweave::threads {

// Members claim tasks one by one, and a run ends when all its tasks are done. If the machine delays a member, the
// others do its share.
class ThreadTeam {
  public:
    // Fewer than n_members if the machine refuses to start so many threads.
    explicit ThreadTeam(int n_members) : helpers_(static_cast<std::size_t>(n_members)) {
        for (int k = 1; k < n_members && helpers_.start([this] { serve(); }); ++k) {
        }
    }
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;
    ~ThreadTeam() {
        stop_ = true;
        helpers_.join();
    }

    // Call task(i) for i in [0, n_tasks) on all members, this thread included; tasks must not throw.
    void run(std::uint32_t n_tasks, const std::function<void(std::size_t)>& task) {
        if (helpers_.size() == 0) {
            for (std::size_t i = 0; i < n_tasks; ++i) task(i);
            return;
        }
        task_ = &task;
        n_done_.store(0);
        // All tasks of the run before are claimed, so nobody looks at task_ until this is published.
        open_.store(std::uint64_t{++n_runs_} << 32 | n_tasks);
        while (work()) {
        }
        for (SpinWait wait = patience(); n_done_.load() < n_tasks;) wait.rest();
    }

  private:
    // Tasks follow each other within microseconds: wait without sleeping, but let others run.
    static constexpr SpinWait patience() { return {0, 2000}; }

    // Do one open task; false if there is none. `open_` holds the run and how many of its tasks are left,
    // so that a claim cannot reach into another run.
    bool work() {
        std::uint64_t open = open_.load();
        do {
            if (static_cast<std::uint32_t>(open) == 0) return false;
        } while (!open_.compare_exchange_weak(open, open - 1));
        (*task_)(static_cast<std::uint32_t>(open) - 1);
        n_done_.fetch_add(1);
        return true;
    }

    void serve() {
        for (SpinWait wait = patience(); !stop_;) {
            if (work())
                wait.reset();
            else
                wait.rest();
        }
    }

    const std::function<void(std::size_t)>* task_ = nullptr;
    std::uint32_t n_runs_ = 0;
    std::atomic<std::uint64_t> open_{0};
    std::atomic<std::uint32_t> n_done_{0};
    std::atomic<bool> stop_{false};
    Threads helpers_;
};

}  // namespace labelweave::threads
