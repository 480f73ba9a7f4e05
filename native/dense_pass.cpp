// The pass over a dense X, with SIMD over the features, so that only busy lanes cost anything.
#include "passes.hpp"

namespace labelweave {
namespace {

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
            const Lanes* direction = pass.direction + pass.design.first_extra();
            const Lanes extra = gather(pass.design.extras, first + i, direction, Lanes{});
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

}  // namespace

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
        for (std::size_t f = 0; f < design.n_features; ++f)
            gradient[f][work.lane[k]] = work.g[k][f / kLanes][f % kLanes];
}

}  // namespace labelweave
