// Design matrices as Python hands them over.
#pragma once

#include <optional>

#include "bind/arrays.hpp"
#include "design/design.hpp"

namespace labelweave::bind {

using Indptr = In<std::int64_t, 1>;
using Indices = In<std::int32_t, 1>;
using Values = In<double, 1>;

inline design::Csr checked_csr(const Indptr& indptr, const Indices& indices, const Values& values, std::size_t n_rows,
                               std::size_t n_columns) {
    require(indptr.shape(0) == n_rows + 1, "indptr needs one entry more than there are rows");
    require(indices.shape(0) == values.shape(0), "indices and values differ in length");
    require(indptr.data()[0] == 0, "indptr must start at 0");
    for (std::size_t row = 0; row < n_rows; ++row)
        require(indptr.data()[row] <= indptr.data()[row + 1], "indptr must not decrease");
    require(static_cast<std::size_t>(indptr.data()[n_rows]) <= indices.shape(0), "indptr points past the values");
    for (std::size_t k = 0; k < indices.shape(0); ++k)
        require(indices.data()[k] >= 0 && static_cast<std::size_t>(indices.data()[k]) < n_columns,
                "a column index is out of range");
    return {indptr.data(), indices.data(), values.data()};
}

// X from Python: a dense array, or the three arrays of a CSR matrix and its width.
struct Matrix {
    std::optional<In<double, 2>> dense;
    std::optional<Indptr> indptr;
    std::optional<Indices> indices;
    std::optional<Values> values;
    std::size_t n_columns = 0;
};

// The features of a design with n_rows rows.
inline design::Design design_of(const Matrix& x, std::size_t n_rows) {
    design::Design design;
    design.n_rows = n_rows;
    design.n_features = x.n_columns;
    if (x.dense) {
        require(x.dense->shape(0) == n_rows, "X has another number of rows than its targets");
        design.dense = x.dense->data();
    } else {
        require(x.indptr->shape(0) == n_rows + 1, "X has another number of rows than its targets");
        design.sparse = {x.indptr->data(), x.indices->data(), x.values->data()};
    }
    return design;
}

}  // namespace labelweave::bind
