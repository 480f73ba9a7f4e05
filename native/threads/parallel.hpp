// Split work over threads. Results never depend on how many threads there are:
// a task writes only what belongs to it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace labelweave::threads {

// More threads than this never help, and a machine may refuse to start them.
constexpr int kMostThreads = 256;

// Threads to use when the caller asks for n_threads (0 or less: all cores).
inline int resolve_threads(int n_threads) {
    if (n_threads > 0) return std::min(n_threads, kMostThreads);
    return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, unsigned{kMostThreads}));
}

// Threads that are waited for, whichever way their owner leaves.
class Threads {
  public:
    explicit Threads(std::size_t most) { threads_.reserve(most); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;
    ~Threads() { join(); }

    std::size_t size() const { return threads_.size(); }

    // Start one more of the `most`; false if the machine refuses, as it does beyond its limits.
    template <class Work>
    bool start(Work&& work) {
        try {
            threads_.emplace_back(std::forward<Work>(work));
        } catch (const std::system_error&) {
            return false;
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }

    void join() {
        for (auto& thread : threads_)
            if (thread.joinable()) thread.join();
    }

  private:
    std::vector<std::thread> threads_;
};

// Call task(i) for i in [0, n_tasks), at most n_threads at a time, in any order; fewer at a time if the machine
// refuses threads. The first exception thrown by a task is rethrown here once all threads stopped.
template <class Task>
void parallel_for(std::size_t n_tasks, int n_threads, Task&& task) {
    const auto wanted = static_cast<std::size_t>(resolve_threads(n_threads));
    const std::size_t n_workers = std::min(wanted, n_tasks);
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    auto work = [&] {
        try {
            for (std::size_t i; (i = next.fetch_add(1)) < n_tasks;) task(i);
        } catch (...) {
            std::lock_guard<std::mutex> lock(failure_mutex);
            if (!failure) failure = std::current_exception();
            next.store(n_tasks);
        }
    };
    Threads helpers(n_workers);
    while (helpers.size() + 1 < n_workers && helpers.start(std::ref(work))) {
    }
    work();
    helpers.join();
    if (failure) std::rethrow_exception(failure);
}

// Call work(member) for all members at once, each on a thread of its own, this one included: for members that wait for
// each other. False if the machine refuses a thread; then nothing was called. Work must not throw.
template <class Work>
bool run_together(std::size_t n_members, const Work& work) {
    enum : int { waiting, go, leave };
    std::atomic<int> word{waiting};
    Threads others(n_members);
    for (std::size_t member = 1; member < n_members; ++member) {
        const bool started = others.start([&word, &work, member] {
            while (word.load() == waiting) std::this_thread::yield();
            if (word.load() == go) work(member);
        });
        if (started) continue;
        word.store(leave);
        return false;
    }
    word.store(go);
    work(0);
    return true;
}

// Call task(begin, end) for consecutive blocks of rows.
template <class Task>
void parallel_rows(std::size_t n_rows, std::size_t block, int n_threads, Task&& task) {
    block = std::max<std::size_t>(1, block);
    parallel_for((n_rows + block - 1) / block, n_threads,
                 [&](std::size_t i) { task(i * block, std::min(n_rows, (i + 1) * block)); });
}

}  // namespace labelweave::threads
