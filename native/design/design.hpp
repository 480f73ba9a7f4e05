// The design matrix [X | 1 | extras] that many linear problems share.
//
// Coefficients of eight problems are stored feature-major: row f of an array of Lanes holds the
// coefficient of column f in all of them. X is dense (row-major) or CSR, the extra columns (labels of
// other problems) are CSR. Columns are ordered features, intercept, extras.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simd/lanes.hpp"

namespace labelweave::design {

struct Csr {
    const std::int64_t* indptr = nullptr;
    const std::int32_t* indices = nullptr;
    const double* values = nullptr;  // null: every value is one, and nothing has to be read

    double value(std::int64_t k) const { return values ? values[k] : 1.0; }
};

struct Design {
    std::size_t n_rows = 0, n_features = 0, n_extras = 0;
    const double* dense = nullptr;  // n_rows x n_features, or null when `sparse` holds X
    Csr sparse, extras;             // extras.indptr is null when there are none
    Csr sparse_columns;             // `sparse` transposed; backward products read it if present

    std::size_t width() const { return n_features + n_extras + 1; }
    std::size_t intercept() const { return n_features; }
    std::size_t first_extra() const { return n_features + 1; }
};

// A CSR matrix together with the arrays it points to.
struct OwnedCsr {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<double> values;
    Csr view() const { return {indptr.data(), indices.data(), values.empty() ? nullptr : values.data()}; }
};
// The same matrix, with its values left out where they are all one (sets of words, labels).
Csr without_unit_values(Csr matrix, std::size_t n_rows);
// The bytes of the entries of the transposed matrix.
std::size_t transposed_bytes(const Csr& matrix, std::size_t n_rows);
OwnedCsr transpose(const Csr& matrix, std::size_t n_rows, std::size_t n_columns);

// The largest sum of squares; larger features still have a rough preconditioner.
constexpr double kLargestSquare = 1e306;

// Sum of squares of every column, the intercept's included.
void column_squares(const Design& design, double* squares);

}  // namespace labelweave::design
