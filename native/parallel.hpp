// Split work over threads. Results never depend on how many threads there are:
// a task writes only what belongs to it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace labelweave {

// More threads than this never help, and a machine may refuse to start them.
constexpr int kMostThreads = 256;

// Threads to use when the caller asks for n_threads (0 or less: all cores).
inline int resolve_threads(int n_threads) {
    if (n_threads > 0) return std::min(n_threads, kMostThreads);
    return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, unsigned{kMostThreads}));
}

// Call task(i) for i in [0, n_tasks), at most n_threads at a time, in any order.
// The first exception thrown by a task is rethrown here once all threads stopped.
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
    std::vector<std::thread> workers;
    for (std::size_t t = 1; t < n_workers; ++t) workers.emplace_back(work);
    work();
    for (auto& worker : workers) worker.join();
    if (failure) std::rethrow_exception(failure);
}

// Call task(begin, end) for consecutive blocks of rows.
template <class Task>
void parallel_rows(std::size_t n_rows, std::size_t block, int n_threads, Task&& task) {
    block = std::max<std::size_t>(1, block);
    parallel_for((n_rows + block - 1) / block, n_threads, [&](std::size_t i) {
        task(i * block, std::min(n_rows, (i + 1) * block));
    });
}

}  // namespace labelweave
