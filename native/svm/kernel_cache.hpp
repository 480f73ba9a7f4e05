// Kernel values between the rows of a design, and a cache of the last rows used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "design/design.hpp"

namespace labelweave::svm {

// K(a, b) = a'b, or exp(-gamma |a - b|^2).
struct KernelFunction {
    bool rbf = false;
    double gamma = 0.0;
};

// |x|^2 of every row.
std::vector<double> row_squares(const design::Design& design);

// Fill out with K(row a of one design, row b of another), n_a x n_b.
void kernel_matrix(const design::Design& a, const design::Design& b, KernelFunction kernel, double* out, int n_threads);

// Rows of the kernel matrix of a design with itself. The value of an entry does not depend on the cached rows.
class KernelCache {
  public:
    // `room` is in bytes; two rows are always kept.
    KernelCache(const design::Design& design, KernelFunction kernel, const double* squares, std::size_t room);

    // The kernel row of `row`, of which the entries at `columns` are filled. It stays valid until two
    // other rows have been asked for.
    const double* row(std::size_t row, const std::int32_t* columns, std::size_t n_columns);

    double diagonal(std::size_t row) const { return kernel_.rbf ? 1.0 : squares_[row]; }

  private:
    struct Slot {
        std::unique_ptr<double[]> values;  // NaN where not computed
        std::size_t row = 0;
        std::size_t newer = 0, older = 0;  // neighbours in the ring of slots, by last use
    };

    std::size_t slot_for(std::size_t row);
    void make_newest(std::size_t slot);

    const design::Design& design_;
    KernelFunction kernel_;
    const double* squares_;
    std::size_t most_slots_;
    std::vector<Slot> slots_;
    std::size_t newest_ = 0;
    std::vector<std::int32_t> slot_of_;  // -1: not kept
    std::vector<std::int32_t> missing_;
    std::vector<double> spread_;  // a sparse row spread out over all features
};

}  // namespace labelweave::svm
