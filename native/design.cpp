#include "design.hpp"

#include <algorithm>

namespace labelweave {
namespace {

// Rows of a dense X handled together: enough independent sums to keep the multipliers busy.
constexpr std::size_t kTile = 8;

// From u = (A v)_row to the residual that the transposed product needs.
LABELWEAVE_INLINE Lanes respond(const Pass& pass, std::size_t row, Lanes u, Tally& tally) {
    const Lanes product = pass.curvature[row] * u;
    tally.product += product * u;
    if (!pass.any_evaluating) return product;
    Lanes t{}, weight = broadcast(1.0), total = broadcast(1.0);
    const std::int8_t* labels = pass.targets.labels + row * pass.targets.n_targets;
    for (int lane = 0; lane < kLanes; ++lane) t[lane] = labels[pass.target[lane]];
    if (pass.targets.weights) {
        const double* weights = pass.targets.weights + row * pass.targets.n_weights;
        for (int lane = 0; lane < kLanes; ++lane) weight[lane] = weights[pass.weight[lane]];
    }
    if (pass.targets.total) total = broadcast(pass.targets.total[row]);

    const Lanes z = pass.score[row] + u;
    const Lanes e = exp_nonpositive(-abs(z));
    const Lanes inverse = 1.0 / (1.0 + e);
    const Lanes probability = select(z >= 0.0, inverse, e * inverse);
    const Lanes loss = select(z > 0.0, z, Lanes{}) - t * z + log1p_unit(e);
    const Lanes curvature = weight * e * inverse * inverse;
    const Lanes residual = weight * (probability - t);

    const LaneMask evaluating = pass.evaluating;
    tally.loss += weight * loss;
    tally.held_out += (total - weight) * loss;
    tally.curvature += curvature;
    const Lanes response = select(evaluating, residual, product);
    pass.score[row] = select(evaluating, z, pass.score[row]);
    pass.curvature[row] = select(evaluating, curvature, pass.curvature[row]);
    return response;
}

LABELWEAVE_INLINE Lanes forward(const Csr& matrix, std::size_t row, const Lanes* direction, Lanes u) {
    Lanes even = u, odd{};
    std::int64_t k = matrix.indptr[row];
    const std::int64_t end = matrix.indptr[row + 1];
    for (; k + 1 < end; k += 2) {
        even += matrix.values[k] * direction[matrix.indices[k]];
        odd += matrix.values[k + 1] * direction[matrix.indices[k + 1]];
    }
    if (k < end) even += matrix.values[k] * direction[matrix.indices[k]];
    return even + odd;
}

LABELWEAVE_INLINE void backward(const Csr& matrix, std::size_t row, Lanes residual, Lanes* gradient) {
    for (std::int64_t k = matrix.indptr[row]; k < matrix.indptr[row + 1]; ++k)
        gradient[matrix.indices[k]] += matrix.values[k] * residual;
}

LABELWEAVE_KERNEL void sparse_pass(const Pass& pass, std::size_t begin, std::size_t end, Lanes* gradient,
                                   Tally& tally) {
    const Design& design = pass.design;
    const std::size_t first_extra = design.first_extra(), intercept = design.intercept();
    Lanes total{};
    for (std::size_t row = begin; row < end; ++row) {
        Lanes u = forward(design.sparse, row, pass.direction, pass.direction[intercept]);
        if (design.extras.indptr) u = forward(design.extras, row, pass.direction + first_extra, u);
        const Lanes residual = respond(pass, row, u, tally);
        backward(design.sparse, row, residual, gradient);
        if (design.extras.indptr) backward(design.extras, row, residual, gradient + first_extra);
        total += residual;
    }
    gradient[intercept] += total;
}

LABELWEAVE_KERNEL void dense_pass(const Pass& pass, std::size_t begin, std::size_t end, Lanes* gradient,
                                  Tally& tally) {
    const Design& design = pass.design;
    const std::size_t n_features = design.n_features, first_extra = design.first_extra(), intercept = design.intercept();
    Lanes total{};
    for (std::size_t first = begin; first < end; first += kTile) {
        const std::size_t n_tile = std::min(kTile, end - first);
        const double* x[kTile];
        // Rows missing in the last tile repeat its last row with residual zero.
        for (std::size_t i = 0; i < kTile; ++i) x[i] = design.dense + (first + std::min(i, n_tile - 1)) * n_features;
        Lanes u[kTile];
        for (std::size_t i = 0; i < kTile; ++i) u[i] = pass.direction[intercept];
        for (std::size_t f = 0; f < n_features; ++f) {
            const Lanes v = pass.direction[f];
            for (std::size_t i = 0; i < kTile; ++i) u[i] += x[i][f] * v;
        }
        Lanes r[kTile]{};
        for (std::size_t i = 0; i < n_tile; ++i) {
            const std::size_t row = first + i;
            if (design.extras.indptr) u[i] = forward(design.extras, row, pass.direction + first_extra, u[i]);
            r[i] = respond(pass, row, u[i], tally);
            if (design.extras.indptr) backward(design.extras, row, r[i], gradient + first_extra);
            total += r[i];
        }
        for (std::size_t f = 0; f < n_features; ++f) {
            Lanes even = gradient[f], odd{};
            for (std::size_t i = 0; i < kTile; i += 2) {
                even += x[i][f] * r[i];
                odd += x[i + 1][f] * r[i + 1];
            }
            gradient[f] = even + odd;
        }
    }
    gradient[intercept] += total;
}

void add_squares(const Csr& matrix, std::size_t n_rows, double* squares) {
    for (std::int64_t k = matrix.indptr[0]; k < matrix.indptr[n_rows]; ++k)
        squares[matrix.indices[k]] += matrix.values[k] * matrix.values[k];
}

}  // namespace

void run_pass(const Pass& pass, std::size_t begin, std::size_t end, Lanes* gradient, Tally& tally) {
    (pass.design.dense ? dense_pass : sparse_pass)(pass, begin, end, gradient, tally);
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
    if (design.extras.indptr) add_squares(design.extras, design.n_rows, squares + design.first_extra());
    squares[design.intercept()] = static_cast<double>(design.n_rows);
}

}  // namespace labelweave
