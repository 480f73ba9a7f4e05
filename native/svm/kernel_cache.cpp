#include "svm/kernel_cache.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "design/row_entries.hpp"
#include "simd/lanes.hpp"
#include "threads/parallel.hpp"

namespace labelweave::svm {
namespace {

constexpr std::size_t kRowBlock = 32;

// A row to be multiplied with many: as it is if dense, spread out over all features if sparse.
struct Spread {
    const double* values = nullptr;
    double square = 0.0;
};

LABELWEAVE_INLINE double dense_dot(const double* a, const double* b, std::size_t n) {
    Lanes sums{};
    std::size_t k = 0;
    for (; k + kLanes <= n; k += kLanes) sums += load(a + k) * load(b + k);
    double total = sum(sums);
    for (; k < n; ++k) total += a[k] * b[k];
    return total;
}

LABELWEAVE_INLINE double sparse_dot(const design::RowEntries& x, const double* spread) {
    double sums[4] = {};  // four chains keep the adders busy
    std::size_t k = 0;
    for (; k + 4 <= x.size; k += 4)
        for (int i = 0; i < 4; ++i) sums[i] += x.values[k + i] * spread[x.columns[k + i]];
    for (; k < x.size; ++k) sums[0] += x.values[k] * spread[x.columns[k]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// out[c] = K(a, row c) for the rows listed, or (columns null) for the first n rows.
LABELWEAVE_KERNEL void fill(const design::Design& design, const double* squares, KernelFunction kernel, const Spread& a,
                            const std::int32_t* columns, std::size_t n, double* out) {
    for (std::size_t c = 0; c < n; ++c) {
        const std::size_t row = columns ? static_cast<std::size_t>(columns[c]) : c;
        const design::RowEntries x = design::row_entries(design, row);
        const double dot = x.columns ? sparse_dot(x, a.values) : dense_dot(x.values, a.values, x.size);
        out[row] = kernel.rbf ? std::exp(-kernel.gamma * std::max(0.0, a.square + squares[row] - 2.0 * dot)) : dot;
    }
}

void spread_out(const design::RowEntries& x, std::vector<double>& room) {
    for (std::size_t k = 0; k < x.size; ++k) room[x.columns[k]] = x.values[k];
}

void clear_again(const design::RowEntries& x, std::vector<double>& room) {
    for (std::size_t k = 0; k < x.size; ++k) room[x.columns[k]] = 0.0;
}

}  // namespace

std::vector<double> row_squares(const design::Design& design) {
    std::vector<double> squares(design.n_rows);
    for (std::size_t row = 0; row < design.n_rows; ++row) {
        const design::RowEntries x = design::row_entries(design, row);
        for (std::size_t k = 0; k < x.size; ++k) squares[row] += x.values[k] * x.values[k];
    }
    return squares;
}

void kernel_matrix(const design::Design& a, const design::Design& b, KernelFunction kernel, double* out,
                   int n_threads) {
    const std::vector<double> a_squares = row_squares(a), b_squares = row_squares(b);
    threads::parallel_rows(a.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> room(a.n_features);
        for (std::size_t row = begin; row < end; ++row) {
            const design::RowEntries x = design::row_entries(a, row);
            // A dense row next to sparse ones is spread out already.
            if (x.columns) spread_out(x, room);
            fill(b, b_squares.data(), kernel, {x.columns ? room.data() : x.values, a_squares[row]}, nullptr, b.n_rows,
                 out + row * b.n_rows);
            if (x.columns) clear_again(x, room);
        }
    });
}

KernelCache::KernelCache(const design::Design& design, KernelFunction kernel, const double* squares, std::size_t room)
    : design_(design), kernel_(kernel), squares_(squares),
      most_slots_(std::clamp<std::size_t>(room / (sizeof(double) * std::max<std::size_t>(1, design.n_rows)), 2,
                                          std::max<std::size_t>(2, design.n_rows))),
      slot_of_(design.n_rows, -1), spread_(design.dense ? 0 : design.n_features) {}

const double* KernelCache::row(std::size_t row, const std::int32_t* columns, std::size_t n_columns) {
    const std::size_t slot = slot_for(row);
    make_newest(slot);
    double* values = slots_[slot].values.get();
    missing_.clear();
    for (std::size_t c = 0; c < n_columns; ++c)
        if (std::isnan(values[columns[c]])) missing_.push_back(columns[c]);
    if (!missing_.empty()) {
        const design::RowEntries x = design::row_entries(design_, row);
        if (x.columns) spread_out(x, spread_);
        fill(design_, squares_, kernel_, {x.columns ? spread_.data() : x.values, squares_[row]}, missing_.data(),
             missing_.size(), values);
        if (x.columns) clear_again(x, spread_);
    }
    return values;
}

std::size_t KernelCache::slot_for(std::size_t row) {
    if (slot_of_[row] >= 0) return static_cast<std::size_t>(slot_of_[row]);
    std::size_t slot = slots_.size();
    if (slot < most_slots_) {
        slots_.emplace_back();
        slots_[slot].values.reset(new double[design_.n_rows]);
        // A ring of one, or a place in the ring before the newest: `make_newest` turns it.
        const std::size_t newest = slot ? newest_ : 0;
        slots_[slot].older = newest;
        slots_[slot].newer = slot ? slots_[newest].newer : 0;
        slots_[slots_[slot].newer].older = slot;
        slots_[newest].newer = slot;
    } else {
        slot = slots_[newest_].newer;  // the oldest closes the ring
        slot_of_[slots_[slot].row] = -1;
    }
    std::fill_n(slots_[slot].values.get(), design_.n_rows, std::numeric_limits<double>::quiet_NaN());
    slots_[slot].row = row;
    slot_of_[row] = static_cast<std::int32_t>(slot);
    return slot;
}

void KernelCache::make_newest(std::size_t slot) {
    if (slot == newest_) return;
    Slot& moving = slots_[slot];
    slots_[moving.newer].older = moving.older;
    slots_[moving.older].newer = moving.newer;
    const std::size_t oldest = slots_[newest_].newer;
    moving.older = newest_;
    moving.newer = oldest;
    slots_[newest_].newer = slot;
    slots_[oldest].older = slot;
    newest_ = slot;
}

}  // namespace labelweave::svm
