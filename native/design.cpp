#include "design.hpp"

#include <algorithm>

namespace labelweave {
namespace {

// Rows go through a pass in chunks: forward products, responses, backward products. A chunk is short
// enough to stay in the cache, and long enough for each of the three loops to run undisturbed.
constexpr std::size_t kDenseChunk = 32, kSparseChunk = 128;
// Rows of a dense X handled together: enough independent sums to keep the multipliers busy.
constexpr std::size_t kTile = 8;

// One lane's evaluation over a chunk, with SIMD over the rows.
template <std::size_t Chunk>
struct Evaluation {
    double score[Chunk], target[Chunk], weight[Chunk], held_out[Chunk], curvature[Chunk], residual[Chunk];

    LABELWEAVE_INLINE void gather(const Pass& pass, int lane, std::size_t first, std::size_t n, const Lanes* u) {
        const Targets& targets = pass.targets;
        const std::size_t n_rows = pass.design.n_rows;
        const std::int8_t* labels = targets.labels + pass.target[lane] * n_rows + first;
        const double* old_score = pass.score + lane * n_rows + first;
        const double* weights = targets.weights ? targets.weights + pass.weight[lane] * n_rows + first : nullptr;
        for (std::size_t i = 0; i < n; ++i) {
            score[i] = old_score[i] + u[i][lane];
            target[i] = labels[i];
            weight[i] = weights ? weights[i] : 1.0;
            held_out[i] = (targets.total ? targets.total[first + i] : 1.0) - weight[i];
        }
        // Rows missing in the last chunk weigh nothing.
        for (std::size_t i = n; i % kLanes; ++i) score[i] = target[i] = weight[i] = held_out[i] = 0.0;
    }

    LABELWEAVE_INLINE void evaluate(int lane, std::size_t n, Tally& tally) {
        Lanes loss_sum{}, held_out_sum{}, curvature_sum{};
        for (std::size_t i = 0; i < n; i += kLanes) {
            const Lanes z = load(score + i), t = load(target + i), w = load(weight + i);
            const Lanes e = exp_nonpositive(-abs(z));
            const Lanes inverse = 1.0 / (1.0 + e);
            const Lanes probability = select(z >= 0.0, inverse, e * inverse);
            const Lanes loss = select(z > 0.0, z, Lanes{}) - t * z + log1p_unit(e);
            const Lanes c = w * e * inverse * inverse, r = w * (probability - t);
            std::memcpy(curvature + i, &c, sizeof c);
            std::memcpy(residual + i, &r, sizeof r);
            loss_sum += w * loss;
            held_out_sum += load(held_out + i) * loss;
            curvature_sum += c;
        }
        tally.loss[lane] += sum(loss_sum);
        tally.held_out[lane] += sum(held_out_sum);
        tally.curvature[lane] += sum(curvature_sum);
    }

    LABELWEAVE_INLINE void scatter(const Pass& pass, int lane, std::size_t first, std::size_t n, Lanes* r) const {
        std::copy_n(score, n, pass.score + lane * pass.design.n_rows + first);
        for (std::size_t i = 0; i < n; ++i) {
            pass.curvature[first + i][lane] = curvature[i];
            r[i][lane] = residual[i];
        }
    }
};

// From u = A v to the response r that the transposed product needs.
template <std::size_t Chunk>
LABELWEAVE_INLINE void respond(const Pass& pass, std::size_t first, std::size_t n, const Lanes* u, Lanes* response,
                               Tally& tally) {
    Lanes total = tally.product;
    for (std::size_t i = 0; i < n; ++i) {
        response[i] = pass.curvature[first + i] * u[i];
        total += response[i] * u[i];
    }
    tally.product = total;
    for (int lane = 0; lane < kLanes; ++lane) {
        if (!pass.evaluating[lane]) continue;
        Evaluation<Chunk> evaluation;
        evaluation.gather(pass, lane, first, n, u);
        evaluation.evaluate(lane, n, tally);
        evaluation.scatter(pass, lane, first, n, response);
    }
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

// The sum of a transposed matrix's row against the responses: one column's gradient.
LABELWEAVE_INLINE Lanes gather(const Csr& columns, std::size_t column, const Lanes* response) {
    return forward(columns, column, response, Lanes{});
}

LABELWEAVE_KERNEL void sparse_pass(const Pass& pass, Lanes* gradient, Tally& tally) {
    const Design& design = pass.design;
    const Lanes* extra_direction = pass.direction + design.first_extra();
    Lanes* extra_gradient = gradient + design.first_extra();
    Lanes u[kSparseChunk], total{};
    std::fill(extra_gradient, extra_gradient + design.n_extras, Lanes{});
    for (std::size_t first = 0; first < design.n_rows; first += kSparseChunk) {
        const std::size_t n = std::min(kSparseChunk, design.n_rows - first);
        Lanes* response = pass.response + first;
        for (std::size_t i = 0; i < n; ++i) {
            u[i] = forward(design.sparse, first + i, pass.direction, pass.direction[design.intercept()]);
            if (design.extras.indptr) u[i] = forward(design.extras, first + i, extra_direction, u[i]);
        }
        respond<kSparseChunk>(pass, first, n, u, response, tally);
        for (std::size_t i = 0; i < n; ++i) {
            if (design.extras.indptr) backward(design.extras, first + i, response[i], extra_gradient);
            total += response[i];
        }
    }
    for (std::size_t f = 0; f < design.n_features; ++f) gradient[f] = gather(design.sparse_columns, f, pass.response);
    gradient[design.intercept()] = total;
}

// u = X v for a tile of rows, added to what u holds.
LABELWEAVE_INLINE void forward_tile(const double* const* x, std::size_t n_features, const Lanes* direction, Lanes* u) {
    Lanes sums[kTile];
    for (std::size_t i = 0; i < kTile; ++i) sums[i] = u[i];
    for (std::size_t f = 0; f < n_features; ++f) {
        const Lanes v = direction[f];
        for (std::size_t i = 0; i < kTile; ++i) sums[i] += x[i][f] * v;
    }
    for (std::size_t i = 0; i < kTile; ++i) u[i] = sums[i];
}

// gradient += X' r for a tile of rows.
LABELWEAVE_INLINE void backward_tile(const double* const* x, std::size_t n_features, const Lanes* residual,
                                     Lanes* gradient) {
    Lanes r[kTile];
    for (std::size_t i = 0; i < kTile; ++i) r[i] = residual[i];
    for (std::size_t f = 0; f < n_features; ++f) {
        Lanes even = gradient[f], odd{};
        for (std::size_t i = 0; i < kTile; i += 2) {
            even += x[i][f] * r[i];
            odd += x[i + 1][f] * r[i + 1];
        }
        gradient[f] = even + odd;
    }
}

LABELWEAVE_KERNEL void dense_pass(const Pass& pass, Lanes* gradient, Tally& tally) {
    const Design& design = pass.design;
    const Lanes* extra_direction = pass.direction + design.first_extra();
    Lanes* extra_gradient = gradient + design.first_extra();
    Lanes u[kDenseChunk], r[kDenseChunk], total{};
    std::fill(gradient, gradient + design.width(), Lanes{});
    for (std::size_t first = 0; first < design.n_rows; first += kDenseChunk) {
        const std::size_t n = std::min(kDenseChunk, design.n_rows - first);
        // Rows missing in the last tile repeat the last row, with response zero.
        const double* x[kDenseChunk];
        for (std::size_t i = 0; i < kDenseChunk; ++i) x[i] = design.dense + (first + std::min(i, n - 1)) * design.n_features;
        for (std::size_t i = 0; i < kDenseChunk; ++i) u[i] = pass.direction[design.intercept()];
        for (std::size_t i = 0; i < n; i += kTile) forward_tile(x + i, design.n_features, pass.direction, u + i);
        for (std::size_t i = 0; design.extras.indptr && i < n; ++i)
            u[i] = forward(design.extras, first + i, extra_direction, u[i]);
        respond<kDenseChunk>(pass, first, n, u, r, tally);
        for (std::size_t i = n; i < kDenseChunk; ++i) r[i] = Lanes{};
        for (std::size_t i = 0; design.extras.indptr && i < n; ++i)
            backward(design.extras, first + i, r[i], extra_gradient);
        for (std::size_t i = 0; i < n; i += kTile) backward_tile(x + i, design.n_features, r + i, gradient);
        for (std::size_t i = 0; i < n; ++i) total += r[i];
    }
    gradient[design.intercept()] = total;
}

void add_squares(const Csr& matrix, std::size_t n_rows, double* squares) {
    for (std::int64_t k = matrix.indptr[0]; k < matrix.indptr[n_rows]; ++k)
        squares[matrix.indices[k]] += matrix.values[k] * matrix.values[k];
}

}  // namespace

void run_pass(const Pass& pass, Lanes* gradient, Tally& tally) {
    (pass.design.dense ? dense_pass : sparse_pass)(pass, gradient, tally);
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
    if (design.extras.indptr) add_squares(design.extras, design.n_rows, squares + design.first_extra());
    squares[design.intercept()] = static_cast<double>(design.n_rows);
}

}  // namespace labelweave
