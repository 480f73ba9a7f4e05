// Predictions of a learned model for new rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "online/model.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::online {

// Mean and variance of every label's score <w, x>, n_rows x n_labels each, without the bias.
void moments(const Model& model, const Settings& settings, const Rows& rows, double* mean, double* variance,
             int n_threads, threads::Interrupt& interrupt);

// Whether <w, x> > b under models drawn from the posterior: n_samples x n_rows x n_labels of 0/1. A weight's draw
// belongs to (seed, sample, label, feature), so that every row and every call use the same models.
void samples(const Model& model, const Settings& settings, const Rows& rows, std::uint64_t seed, std::size_t n_samples,
             std::int8_t* above, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::online
