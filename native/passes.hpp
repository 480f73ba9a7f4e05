// What the dense and the sparse pass share: the evaluation of a lane, and products with CSR rows.
// Included by their two source files only, so that every kernel inlines its own version.
#pragma once

#include <algorithm>

#include "design.hpp"

namespace labelweave {

void dense_pass(const Pass& pass, Lanes* gradient, Tally& tally);
void sparse_pass(const Pass& pass, Lanes* gradient, Tally& tally);

// Vectors that hold a dense row, the last one padded with zeros.
inline std::size_t dense_vectors(std::size_t n_features) { return (n_features + kLanes - 1) / kLanes; }

// Where the numbers of (row, lane) stand: a sparse pass keeps the lanes of a row together, a dense
// pass the rows of a lane.
template <std::size_t RowStride>
struct Layout {
    static std::size_t at(std::size_t row, int lane, std::size_t n_rows) {
        return RowStride == 1 ? lane * n_rows + row : row * RowStride + lane;
    }
};

// One lane's evaluation over a chunk, with SIMD over the rows.
template <std::size_t Chunk, std::size_t RowStride>
struct Evaluation {
    double score[Chunk], target[Chunk], weight[Chunk], held_out[Chunk], curvature[Chunk], residual[Chunk];

    LABELWEAVE_INLINE void gather(const Pass& pass, int lane, std::size_t first, std::size_t n, const double* u) {
        const Targets& targets = pass.targets;
        const std::size_t n_rows = pass.design.n_rows;
        const std::int8_t* labels = targets.labels + pass.target[lane] * n_rows + first;
        const double* old_score = pass.score + lane * n_rows + first;
        const double* weights = targets.weights ? targets.weights + pass.weight[lane] * n_rows + first : nullptr;
        for (std::size_t i = 0; i < n; ++i) {
            score[i] = old_score[i] + u[i * RowStride];
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
            const Lanes c = w * e * inverse * inverse;
            store(curvature + i, c);
            store(residual + i, w * (probability - t));
            loss_sum += w * loss;
            held_out_sum += load(held_out + i) * loss;
            curvature_sum += c;
        }
        tally.loss[lane] += sum(loss_sum);
        tally.held_out[lane] += sum(held_out_sum);
        tally.curvature[lane] += sum(curvature_sum);
    }

    LABELWEAVE_INLINE void scatter(const Pass& pass, int lane, std::size_t first, std::size_t n, double* r) const {
        const std::size_t n_rows = pass.design.n_rows;
        double* c = pass.curvature + Layout<RowStride>::at(first, lane, n_rows);
        std::copy_n(score, n, pass.score + lane * n_rows + first);
        for (std::size_t i = 0; i < n; ++i) {
            c[i * RowStride] = curvature[i];
            r[i * RowStride] = residual[i];
        }
    }
};

template <std::size_t Chunk, std::size_t RowStride>
LABELWEAVE_INLINE void evaluate_lane(const Pass& pass, int lane, std::size_t first, std::size_t n, const double* u,
                                     double* r, Tally& tally) {
    Evaluation<Chunk, RowStride> evaluation;
    evaluation.gather(pass, lane, first, n, u);
    evaluation.evaluate(lane, n, tally);
    evaluation.scatter(pass, lane, first, n, r);
}

// u + (matrix v)_row; with a transposed matrix, one column's gradient.
LABELWEAVE_INLINE Lanes gather(const Csr& matrix, std::size_t row, const Lanes* v, Lanes u) {
    Lanes even = u, odd{};
    std::int64_t k = matrix.indptr[row];
    const std::int64_t end = matrix.indptr[row + 1];
    for (; k + 1 < end; k += 2) {
        even += matrix.values[k] * v[matrix.indices[k]];
        odd += matrix.values[k + 1] * v[matrix.indices[k + 1]];
    }
    if (k < end) even += matrix.values[k] * v[matrix.indices[k]];
    return even + odd;
}

LABELWEAVE_INLINE void scatter(const Csr& matrix, std::size_t row, Lanes r, Lanes* gradient) {
    for (std::int64_t k = matrix.indptr[row]; k < matrix.indptr[row + 1]; ++k)
        gradient[matrix.indices[k]] += matrix.values[k] * r;
}

}  // namespace labelweave
