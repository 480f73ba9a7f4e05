#include "products.hpp"

#include <algorithm>

#include "dense_rows.hpp"
#include "gather.hpp"

namespace labelweave {
namespace {

LABELWEAVE_KERNEL void dense_forward(const Design& design, int n, const double* const* v, Lanes* room, Lanes* rows,
                                     double* const* u) {
    DenseRows x;
    x.n_vectors = n_vectors_of(design);
    x.rows = rows;
    for (int k = 0; k < n; ++k) {
        Lanes* copy = room + k * x.n_vectors;
        for (std::size_t f = 0; f < x.n_vectors * kLanes; ++f)
            copy[f / kLanes][f % kLanes] = f < design.n_features ? v[k][f] : 0.0;
        x.v[k] = copy;
    }
    for (std::size_t first = 0; first < design.n_rows; first += kLanes) {
        const std::size_t n_rows = std::min<std::size_t>(kLanes, design.n_rows - first);
        x.read_rows(design, first, n_rows);
        x.ahead = reinterpret_cast<const char*>(design.dense + (first + n_rows) * design.n_features);
        for (int k = 0; k < n; ++k) x.u[k] = broadcast(v[k][design.intercept()]);
        x.forward_all(n);
        for (int k = 0; k < n; ++k) store(u[k] + first, x.u[k]);
    }
}

LABELWEAVE_KERNEL void dense_backward(const Design& design, int n, const double* const* r, Lanes* room, Lanes* rows,
                                      double* const* g) {
    DenseRows x;
    x.n_vectors = n_vectors_of(design);
    x.rows = rows;
    Lanes totals[kLanes]{};
    std::fill(room, room + n * x.n_vectors, Lanes{});
    for (int k = 0; k < n; ++k) x.g[k] = room + k * x.n_vectors;
    for (std::size_t first = 0; first < design.n_rows; first += kLanes) {
        const std::size_t n_rows = std::min<std::size_t>(kLanes, design.n_rows - first);
        x.read_rows(design, first, n_rows);
        x.ahead = reinterpret_cast<const char*>(design.dense + (first + n_rows) * design.n_features);
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

Products::Products(const Design& design)
    : design_(design), columns_(design.dense ? kLanes * n_vectors_of(design) : design.width()),
      rows_(design.dense ? kLanes * n_vectors_of(design) : design.n_rows) {}

void Products::forward(int n, const double* const* v, double* const* u) {
    if (design_.dense)
        dense_forward(design_, n, v, columns_.data(), rows_.data(), u);
    else
        sparse_forward(design_, n, v, columns_.data(), u);
}

void Products::backward(int n, const double* const* r, double* const* g) {
    if (design_.dense)
        dense_backward(design_, n, r, columns_.data(), rows_.data(), g);
    else
        sparse_backward(design_, n, r, rows_.data(), g);
}

}  // namespace labelweave
