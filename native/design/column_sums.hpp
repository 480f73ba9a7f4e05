// X'r without a transposed X: rows come one after another, and every column adds up its own terms.
//
// The sums have the same bits as `gather` over the transposed matrix: entry k of a column goes to sum k mod 4, the
// last few (those that do not fill four) to the first. So X is read once per pass and never copied.
#pragma once

#include <algorithm>
#include <vector>

#include "design/design.hpp"

namespace labelweave::design {

class ColumnSums {
  public:
    ColumnSums(const Csr& matrix, std::size_t n_rows, std::size_t n_columns)
        : matrix_(matrix), places_(n_columns), sums_(kSums * n_columns) {
        for (std::int64_t k = matrix.indptr[0]; k < matrix.indptr[n_rows]; ++k) ++places_[matrix.indices[k]].end;
        for (Place& place : places_) place.end -= place.end % kSums;
    }

    void clear() {
        for (Place& place : places_) place.next = 0;
        std::fill_n(sums_.data(), sums_.size(), Lanes{});
    }

    // Add r times a row. Every row must be added once, in order.
    LABELWEAVE_INLINE void add(std::size_t row, const Lanes& r) {
        const std::int64_t begin = matrix_.indptr[row];
        const auto n = static_cast<std::size_t>(matrix_.indptr[row + 1] - begin);
        const std::int32_t* indices = matrix_.indices + begin;
        if (!matrix_.values) return add_terms(indices, n, r, [](std::size_t) { return 1.0; });
        const double* values = matrix_.values + begin;
        add_terms(indices, n, r, [values](std::size_t k) { return values[k]; });
    }

    LABELWEAVE_INLINE void write(Lanes* gradient) const {
        for (std::size_t column = 0; column < places_.size(); ++column) {
            const Lanes* sums = sums_.data() + kSums * column;
            gradient[column] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
    }

  private:
    static constexpr std::uint32_t kSums = 4;  // as many as `gather` has

    // The loop of `gather`, term by term. Without a branch, since the compiler fuses a multiplication only with an
    // addition that follows unconditionally.
    template <class Value>
    LABELWEAVE_INLINE void add_terms(const std::int32_t* indices, std::size_t n, const Lanes& r, Value value) {
        for (std::size_t k = 0; k < n; ++k) {
            Place& place = places_[indices[k]];
            const std::uint32_t next = place.next++;
            const std::uint32_t fills = next < place.end;
            sums_[kSums * indices[k] + fills * next % kSums] += value(k) * r;
        }
    }

    struct Place {
        std::uint32_t next = 0, end = 0;  // entries added, and where those that do not fill four sums begin
    };
    Csr matrix_;
    std::vector<Place> places_;
    LaneArray sums_;
};

}  // namespace labelweave::design
