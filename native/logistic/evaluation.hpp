// Loss, residual and curvature of rows at their scores, for lanes that evaluate.
#pragma once

#include <algorithm>

#include "logistic/pass.hpp"

namespace labelweave::logistic {

// The layout of the numbers of (row, lane): a sparse pass keeps the lanes of a row together, a dense pass the rows of a
// lane.
template <std::size_t RowStride>
struct Layout {
    static std::size_t at(std::size_t row, int lane, std::size_t n_rows) {
        return RowStride == 1 ? lane * n_rows + row : row * RowStride + lane;
    }
};

// Newton steps need curvature, also where all rows are so flat that none could be represented.
constexpr double kLeastShare = 1e-40;

// One lane's evaluation over a chunk, with SIMD over the rows.
template <std::size_t Chunk, std::size_t RowStride>
struct Evaluation {
    double score[Chunk], target[Chunk], weight[Chunk], held_out[Chunk], curvature[Chunk], residual[Chunk];

    LABELWEAVE_INLINE void gather(const Pass& pass, int lane, std::size_t first, std::size_t n, const double* u) {
        const Targets& targets = pass.targets;
        const std::size_t n_rows = pass.design.n_rows;
        const std::size_t number = pass.target[lane];
        const bool is_label = number < targets.n_labels;
        const std::int8_t* labels = is_label ? targets.labels + number * n_rows + first : nullptr;
        const double* shares = is_label ? nullptr : targets.shares + (number - targets.n_labels) * n_rows + first;
        const double* old_score = pass.score + lane * n_rows + first;
        const double* weights = targets.weights ? targets.weights + pass.weight[lane] * n_rows + first : nullptr;
        for (std::size_t i = 0; i < n; ++i) {
            score[i] = old_score[i] + u[i * RowStride];
            target[i] = is_label ? labels[i] : shares[i];
            weight[i] = weights ? weights[i] : 1.0;
            held_out[i] = (targets.total ? targets.total[first + i] : 1.0) - weight[i];
        }
        // Rows missing in the last chunk weigh nothing.
        for (std::size_t i = n; i % kLanes; ++i) score[i] = target[i] = weight[i] = held_out[i] = 0.0;
    }

    LABELWEAVE_INLINE void evaluate(int lane, std::size_t n, Tally& tally) {
        Lanes loss_sum{}, held_out_sum{}, curvature_sum{};
        const Lanes least = broadcast(kLeastShare);
        for (std::size_t i = 0; i < n; i += kLanes) {
            const Lanes z = load(score + i), t = load(target + i), w = load(weight + i);
            const Lanes e = exp_nonpositive(-abs(z));
            const Lanes inverse = 1.0 / (1.0 + e);
            const Lanes probability = select(z >= 0.0, inverse, e * inverse);
            const Lanes loss = select(z > 0.0, z, Lanes{}) - t * z + log1p_unit(e);
            const Lanes share = e * inverse * inverse;
            const Lanes c = w * select(share > least, share, least);
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

}  // namespace labelweave::logistic
