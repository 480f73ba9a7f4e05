#include "design/products.hpp"

#include <algorithm>

#include "design/dense_rows.hpp"
#include "design/gather.hpp"

namespace labelweave::design {
namespace {

LABELWEAVE_KERNEL void dense_forward(const Design& design, const Lanes* rows, int n, const double* const* v,
                                     Lanes* room, double* const* u) {
    DenseRows x;
    x.n_vectors = n_vectors_of(design);
    for (int k = 0; k < n; ++k) {
        Lanes* copy = room + k * x.n_vectors;
        for (std::size_t f = 0; f < x.n_vectors * kLanes; ++f)
            copy[f / kLanes][f % kLanes] = f < design.n_features ? v[k][f] : 0.0;
        x.v[k] = copy;
    }
    for (std::size_t first = 0; first < design.n_rows; first += kLanes) {
        x.rows = rows + first * x.n_vectors;
        x.ahead = reinterpret_cast<const char*>(x.rows + kLanes * x.n_vectors);
        for (int k = 0; k < n; ++k) x.u[k] = broadcast(v[k][design.intercept()]);
        x.forward_all(n);
        for (int k = 0; k < n; ++k) store(u[k] + first, x.u[k]);
    }
}

LABELWEAVE_KERNEL void dense_backward(const Design& design, const Lanes* rows, int n, const double* const* r,
                                      Lanes* room, double* const* g) {
    DenseRows x;
    x.n_vectors = n_vectors_of(design);
    Lanes totals[kLanes]{};
    std::fill(room, room + n * x.n_vectors, Lanes{});
    for (int k = 0; k < n; ++k) x.g[k] = room + k * x.n_vectors;
    for (std::size_t first = 0; first < design.n_rows; first += kLanes) {
        const std::size_t n_rows = std::min<std::size_t>(kLanes, design.n_rows - first);
        x.rows = rows + first * x.n_vectors;
        x.ahead = reinterpret_cast<const char*>(x.rows + kLanes * x.n_vectors);
        for (int k = 0; k < n; ++k) {
            x.r[k] = Lanes{};
            for (std::size_t i = 0; i < n_rows; ++i) x.r[k][i] = r[k][first + i];
            totals[k] += x.r[k];
        }
        x.backward_all(n);
    }
    for (int k = 0; k < n; ++k) {
        for (std::size_t f = 0; f < design.n_features; ++f) g[k][f] = x.g[k][f / kLanes][f % kLanes];
        g[k][design.intercept()] = sum(totals[k]);
    }
}

LABELWEAVE_INLINE void interleave(std::size_t size, int n, const double* const* from, Lanes* to) {
    for (std::size_t i = 0; i < size; ++i)
        for (int k = 0; k < n; ++k) to[i][k] = from[k][i];
}

LABELWEAVE_KERNEL void sparse_forward(const Design& design, int n, const double* const* v, Lanes* columns,
                                      double* const* u) {
    interleave(design.width(), n, v, columns);
    for (std::size_t row = 0; row < design.n_rows; ++row) {
        const Lanes sums = gather(design.sparse, row, columns, columns[design.intercept()]);
        for (int k = 0; k < n; ++k) u[k][row] = sums[k];
    }
}

LABELWEAVE_KERNEL void sparse_backward(const Design& design, int n, const double* const* r, Lanes* rows,
                                       double* const* g) {
    interleave(design.n_rows, n, r, rows);
    Lanes total{};
    for (std::size_t row = 0; row < design.n_rows; ++row) total += rows[row];
    for (std::size_t f = 0; f < design.n_features; ++f) {
        const Lanes sums = gather(design.sparse_columns, f, rows, Lanes{});
        for (int k = 0; k < n; ++k) g[k][f] = sums[k];
    }
    for (int k = 0; k < n; ++k) g[k][design.intercept()] = total[k];
}

}  // namespace

ProductDesign::ProductDesign(const Design& given) : design(given) {
    if (!design.dense) {
        design.sparse = without_unit_values(design.sparse, design.n_rows);
        columns = transpose(design.sparse, design.n_rows, design.n_features);
        design.sparse_columns = columns.view();
        return;
    }
    const std::size_t stride = n_vectors_of(design) * kLanes;
    rows = LaneArray(padded(design.n_rows) * n_vectors_of(design));
    for (std::size_t row = 0; row < design.n_rows; ++row)
        std::copy_n(design.dense + row * design.n_features, design.n_features,
                    reinterpret_cast<double*>(rows.data()) + row * stride);
}

Products::Products(const ProductDesign& x)
    : x_(x), columns_(x.design.dense ? kLanes * n_vectors_of(x.design) : x.design.width()),
      rows_(x.design.dense ? 0 : x.design.n_rows) {}

void Products::forward(int n, const double* const* v, double* const* u) {
    if (x_.design.dense)
        dense_forward(x_.design, x_.rows.data(), n, v, columns_.data(), u);
    else
        sparse_forward(x_.design, n, v, columns_.data(), u);
}

void Products::backward(int n, const double* const* r, double* const* g) {
    if (x_.design.dense)
        dense_backward(x_.design, x_.rows.data(), n, r, columns_.data(), g);
    else
        sparse_backward(x_.design, n, r, rows_.data(), g);
}

}  // namespace labelweave::design
