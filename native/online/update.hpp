// Learning from rows, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "online/model.hpp"
#include "online/thread_tuner.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::online {

// Rows, in increasing order, that are predicted before they are learned from: z is n x n_labels, the standard
// deviations by which the scores, noise included, exceed the bias.
struct PrequentialRows {
    std::size_t n = 0;
    const std::int64_t* rows = nullptr;
    double* z = nullptr;
};

// Learn from all rows in turn; labels are n_rows x n_labels of 0, 1 or -1 (unknown). Threads share the labels, and
// the result is the same bits for any number of them and any division into calls. `tuner` remembers from call to call
// whether threads were worth it. After an interruption the model is that of the first `n_rows` rows, which `model`
// counts.
void update(Model& model, const Settings& settings, const Rows& rows, const std::int8_t* labels,
            const PrequentialRows& predicted, int n_threads, ThreadTuner& tuner, threads::Interrupt& interrupt);

// Read and write the weights of every row's features and do nothing else: the yardstick for update.
void touch(const Model& model, const Rows& rows);

}  // namespace labelweave::online
