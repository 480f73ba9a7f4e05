#include "design.hpp"

#include <algorithm>

namespace labelweave {

namespace {

std::size_t dense_vectors(std::size_t n_features) { return (n_features + kLanes - 1) / kLanes; }

// Rows of a sparse X go through a pass in chunks that stay in the cache.
constexpr std::size_t kSparseChunk = 128;

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

// ---- sparse X: SIMD over the lanes --------------------------------------------------------------

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

LABELWEAVE_INLINE void respond_sparse(const Pass& pass, std::size_t first, std::size_t n, const Lanes* u, Lanes* r,
                                      Tally& tally) {
    const Lanes* curvature = reinterpret_cast<const Lanes*>(pass.curvature) + first;
    Lanes total = tally.product;
    for (std::size_t i = 0; i < n; ++i) {
        r[i] = curvature[i] * u[i];
        total += r[i] * u[i];
    }
    tally.product = total;
    for (int lane = 0; lane < kLanes; ++lane)
        if (pass.evaluating[lane])
            evaluate_lane<kSparseChunk, kLanes>(pass, lane, first, n, reinterpret_cast<const double*>(u) + lane,
                                                reinterpret_cast<double*>(r) + lane, tally);
}

LABELWEAVE_KERNEL void sparse_pass(const Pass& pass, Lanes* gradient, Tally& tally) {
    const Design& design = pass.design;
    const Lanes* extra_direction = pass.direction + design.first_extra();
    Lanes* extra_gradient = gradient + design.first_extra();
    Lanes u[kSparseChunk], total{};
    std::fill(extra_gradient, extra_gradient + design.n_extras, Lanes{});
    for (std::size_t first = 0; first < design.n_rows; first += kSparseChunk) {
        const std::size_t n = std::min(kSparseChunk, design.n_rows - first);
        Lanes* r = pass.response + first;
        for (std::size_t i = 0; i < n; ++i) {
            u[i] = gather(design.sparse, first + i, pass.direction, pass.direction[design.intercept()]);
            if (design.n_extras) u[i] = gather(design.extras, first + i, extra_direction, u[i]);
        }
        respond_sparse(pass, first, n, u, r, tally);
        for (std::size_t i = 0; i < n; ++i) {
            if (design.n_extras) scatter(design.extras, first + i, r[i], extra_gradient);
            total += r[i];
        }
    }
    for (std::size_t f = 0; f < design.n_features; ++f)
        gradient[f] = gather(design.sparse_columns, f, pass.response, Lanes{});
    gradient[design.intercept()] = total;
}

// ---- dense X: SIMD over the features, so that only busy lanes cost anything -------------------------

// The sums of eight vectors, as one vector.
LABELWEAVE_INLINE Lanes sums_of(const Lanes* v) {
    Lanes pairs[4], quads[2];
    for (int k = 0; k < 4; ++k)
        pairs[k] = __builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
                   __builtin_shufflevector(v[2 * k], v[2 * k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int k = 0; k < 2; ++k)
        quads[k] = __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
                   __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(quads[0], quads[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(quads[0], quads[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

// A pass over dense X, eight rows at a time. Rows are copied into whole, aligned vectors (n_vectors of
// them, zero-padded) that the forward and the backward product then read once per pair of lanes.
struct DenseWork {
    std::size_t n_vectors;
    Lanes* rows;  // kLanes rows of n_vectors
    int n_busy = 0, lane[kLanes];
    Lanes *v[kLanes], *g[kLanes];     // directions and gradients of the busy lanes
    Lanes u[kLanes], r[kLanes];       // products and responses of the eight rows
    // X comes from beyond the near caches: while eight rows are worked on, the next ones are fetched,
    // a few lines with every step so that memory and arithmetic overlap.
    const char* ahead = nullptr;

    LABELWEAVE_INLINE static const char* fetch(const char* from) {
        for (int line = 0; line < 3; ++line) __builtin_prefetch(from + 64 * line, 0, 3);
        return from + 3 * 64;
    }

    LABELWEAVE_INLINE explicit DenseWork(const Pass& pass)
        : n_vectors(dense_vectors(pass.design.n_features)), rows(pass.response) {
        Lanes* free = rows + kLanes * n_vectors;
        std::fill(rows, free, Lanes{});
        for (int k = 0; k < kLanes; ++k) {
            if (!pass.busy[k]) continue;
            lane[n_busy] = k;
            v[n_busy] = free;
            g[n_busy++] = free + n_vectors;
            for (std::size_t f = 0; f < n_vectors * kLanes; ++f)
                free[f / kLanes][f % kLanes] = f < pass.design.n_features ? pass.direction[f][k] : 0.0;
            std::fill(free + n_vectors, free + 2 * n_vectors, Lanes{});
            free += 2 * n_vectors;
        }
    }

    LABELWEAVE_INLINE void read_rows(const Design& design, std::size_t first, std::size_t n) {
        const std::size_t d = design.n_features, whole = d / kLanes;
        for (std::size_t i = 0; i < n; ++i) {
            const double* from = design.dense + (first + i) * d;
            Lanes* to = rows + i * n_vectors;
            for (std::size_t k = 0; k < whole; ++k) to[k] = load(from + k * kLanes);
            for (std::size_t f = whole * kLanes; f < d; ++f) reinterpret_cast<double*>(to)[f] = from[f];
        }
    }

    // u += X v for N lanes.
    template <int N>
    LABELWEAVE_INLINE void forward(int first_lane) {
        Lanes sums[N][kLanes]{};
        const char* next = ahead;
        for (std::size_t k = 0; k < n_vectors; ++k) {
            next = fetch(next);
            for (int i = 0; i < kLanes; ++i) {
                const Lanes x = rows[i * n_vectors + k];
                for (int j = 0; j < N; ++j) sums[j][i] += x * v[first_lane + j][k];
            }
        }
        ahead = next;
        for (int j = 0; j < N; ++j) u[first_lane + j] += sums_of(sums[j]);
    }

    // g += X' r for N lanes.
    template <int N>
    LABELWEAVE_INLINE void backward(int first_lane) {
        Lanes response[N][kLanes];
        for (int j = 0; j < N; ++j)
            for (int i = 0; i < kLanes; ++i) response[j][i] = broadcast(r[first_lane + j][i]);
        const char* next = ahead;
        for (std::size_t k = 0; k < n_vectors; ++k) {
            next = fetch(next);
            Lanes sums[N];
            for (int j = 0; j < N; ++j) sums[j] = g[first_lane + j][k];
            for (int i = 0; i < kLanes; ++i) {
                const Lanes x = rows[i * n_vectors + k];
                for (int j = 0; j < N; ++j) sums[j] += x * response[j][i];
            }
            for (int j = 0; j < N; ++j) g[first_lane + j][k] = sums[j];
        }
        ahead = next;
    }

    LABELWEAVE_INLINE void respond(const Pass& pass, std::size_t first, std::size_t n, Tally& tally) {
        for (int k = 0; k < n_busy; ++k) {
            r[k] = Lanes{};
            double* response = reinterpret_cast<double*>(&r[k]);
            const double* product = reinterpret_cast<const double*>(&u[k]);
            if (pass.evaluating[lane[k]]) {
                evaluate_lane<kLanes, 1>(pass, lane[k], first, n, product, response, tally);
                continue;
            }
            const double* curvature = pass.curvature + lane[k] * pass.design.n_rows + first;
            for (std::size_t i = 0; i < n; ++i) response[i] = curvature[i] * product[i];
            tally.product[lane[k]] += sum(r[k] * u[k]);
        }
    }

    LABELWEAVE_INLINE void add_extras(const Pass& pass, std::size_t first, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            const Lanes extra = gather(pass.design.extras, first + i, pass.direction + pass.design.first_extra(), Lanes{});
            for (int k = 0; k < n_busy; ++k) u[k][i] += extra[lane[k]];
        }
    }

    LABELWEAVE_INLINE void scatter_extras(const Pass& pass, std::size_t first, std::size_t n, Lanes* gradient) const {
        for (std::size_t i = 0; i < n; ++i) {
            Lanes response{};
            for (int k = 0; k < n_busy; ++k) response[lane[k]] = r[k][i];
            scatter(pass.design.extras, first + i, response, gradient + pass.design.first_extra());
        }
    }
};

LABELWEAVE_KERNEL void dense_pass(const Pass& pass, Lanes* gradient, Tally& tally) {
    const Design& design = pass.design;
    DenseWork work(pass);
    std::fill(gradient, gradient + design.width(), Lanes{});
    for (std::size_t first = 0; first < design.n_rows; first += kLanes) {
        const std::size_t n = std::min<std::size_t>(kLanes, design.n_rows - first);
        work.read_rows(design, first, n);
        work.ahead = reinterpret_cast<const char*>(design.dense + (first + n) * design.n_features);
        int k = 0;
        for (; k < work.n_busy; ++k) work.u[k] = broadcast(pass.direction[design.intercept()][work.lane[k]]);
        for (k = 0; k + 2 <= work.n_busy; k += 2) work.forward<2>(k);
        if (k < work.n_busy) work.forward<1>(k);
        if (design.n_extras) work.add_extras(pass, first, n);
        work.respond(pass, first, n, tally);
        if (design.n_extras) work.scatter_extras(pass, first, n, gradient);
        for (k = 0; k + 2 <= work.n_busy; k += 2) work.backward<2>(k);
        if (k < work.n_busy) work.backward<1>(k);
        for (k = 0; k < work.n_busy; ++k) gradient[design.intercept()][work.lane[k]] += sum(work.r[k]);
    }
    for (int k = 0; k < work.n_busy; ++k)
        for (std::size_t f = 0; f < design.n_features; ++f) gradient[f][work.lane[k]] = work.g[k][f / kLanes][f % kLanes];
}

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
