#include "design/design.hpp"

#include <algorithm>

namespace labelweave::design {
namespace {

void add_squares(const Csr& matrix, std::size_t n_rows, double* squares) {
    for (std::int64_t k = matrix.indptr[0]; k < matrix.indptr[n_rows]; ++k)
        squares[matrix.indices[k]] += matrix.value(k) * matrix.value(k);
}

}  // namespace

OwnedCsr transpose(const Csr& matrix, std::size_t n_rows, std::size_t n_columns) {
    const auto n_values = static_cast<std::size_t>(matrix.indptr[n_rows]);
    OwnedCsr t{std::vector<std::int64_t>(n_columns + 1, 0), std::vector<std::int32_t>(n_values),
               std::vector<double>(matrix.values ? n_values : 0)};
    for (std::size_t k = 0; k < n_values; ++k) ++t.indptr[matrix.indices[k] + 1];
    for (std::size_t c = 0; c < n_columns; ++c) t.indptr[c + 1] += t.indptr[c];
    std::vector<std::int64_t> next(t.indptr.begin(), t.indptr.end() - 1);
    for (std::size_t row = 0; row < n_rows; ++row)
        for (std::int64_t k = matrix.indptr[row]; k < matrix.indptr[row + 1]; ++k) {
            const std::int64_t to = next[matrix.indices[k]]++;
            t.indices[to] = static_cast<std::int32_t>(row);
            if (matrix.values) t.values[to] = matrix.values[k];
        }
    return t;
}

std::size_t transposed_bytes(const Csr& matrix, std::size_t n_rows) {
    const std::size_t entry = sizeof(std::int32_t) + (matrix.values ? sizeof(double) : 0);
    return entry * static_cast<std::size_t>(matrix.indptr[n_rows]);
}

Csr without_unit_values(Csr matrix, std::size_t n_rows) {
    const double* values = matrix.values;
    if (std::all_of(values, values + matrix.indptr[n_rows], [](double value) { return value == 1.0; }))
        matrix.values = nullptr;
    return matrix;
}

void column_squares(const Design& design, double* squares) {
    std::fill(squares, squares + design.width(), 0.0);
    if (design.dense) {
        for (std::size_t row = 0; row < design.n_rows; ++row)
            for (std::size_t f = 0; f < design.n_features; ++f) {
                const double value = design.dense[row * design.n_features + f];
                squares[f] += value * value;
            }
    } else {
        add_squares(design.sparse, design.n_rows, squares);
    }
    if (design.n_extras) add_squares(design.extras, design.n_rows, squares + design.first_extra());
    squares[design.intercept()] = static_cast<double>(design.n_rows);
    for (std::size_t f = 0; f < design.width(); ++f) squares[f] = std::min(squares[f], kLargestSquare);
}

}  // namespace labelweave::design
