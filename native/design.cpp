#include "design.hpp"

#include <algorithm>

#include "passes.hpp"

namespace labelweave {
namespace {

void add_squares(const Csr& matrix, std::size_t n_rows, double* squares) {
    for (std::int64_t k = matrix.indptr[0]; k < matrix.indptr[n_rows]; ++k)
        squares[matrix.indices[k]] += matrix.values[k] * matrix.values[k];
}

}  // namespace

void run_pass(const Pass& pass, Lanes* gradient, Tally& tally) {
    (pass.design.dense ? dense_pass : sparse_pass)(pass, gradient, tally);
}

std::size_t response_size(const Design& design) {
    return design.dense ? 3 * kLanes * dense_vectors(design.n_features) : design.n_rows;
}

OwnedCsr transpose(const Csr& matrix, std::size_t n_rows, std::size_t n_columns) {
    const auto n_values = static_cast<std::size_t>(matrix.indptr[n_rows]);
    OwnedCsr t{std::vector<std::int64_t>(n_columns + 1, 0), std::vector<std::int32_t>(n_values),
               std::vector<double>(n_values)};
    for (std::size_t k = 0; k < n_values; ++k) ++t.indptr[matrix.indices[k] + 1];
    for (std::size_t c = 0; c < n_columns; ++c) t.indptr[c + 1] += t.indptr[c];
    std::vector<std::int64_t> next(t.indptr.begin(), t.indptr.end() - 1);
    for (std::size_t row = 0; row < n_rows; ++row)
        for (std::int64_t k = matrix.indptr[row]; k < matrix.indptr[row + 1]; ++k) {
            const std::int64_t to = next[matrix.indices[k]]++;
            t.indices[to] = static_cast<std::int32_t>(row);
            t.values[to] = matrix.values[k];
        }
    return t;
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

}  // namespace labelweave
