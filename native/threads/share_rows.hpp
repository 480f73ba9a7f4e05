// Rows of unequal cost, shared by threads that take the next few whenever they are done, until Ctrl-C.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "threads/interrupt.hpp"
#include "threads/parallel.hpp"

namespace labelweave::threads {

// Every thread calls make_worker() once for what it needs and then worker(row) for the rows it takes,
// `few` at a time.
template <class MakeWorker>
void share_rows(std::size_t n_rows, int n_threads, Interrupt& interrupt, MakeWorker&& make_worker,
                std::size_t few = 8) {
    const std::size_t n_shares = (n_rows + few - 1) / few;
    const std::size_t n_workers = std::min<std::size_t>(resolve_threads(n_threads), n_shares);
    std::atomic<std::size_t> next{0};
    parallel_for(n_workers, n_threads, [&](std::size_t) {
        interrupt.run([&] {
            auto worker = make_worker();
            for (std::size_t share; (share = next.fetch_add(1)) < n_shares;) {
                interrupt.check();
                const std::size_t end = std::min(n_rows, (share + 1) * few);
                for (std::size_t row = share * few; row < end; ++row) worker(row);
            }
        });
    });
}

}  // namespace labelweave::threads
