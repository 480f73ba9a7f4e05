// A pass over dense X: SIMD over the features, so that only busy lanes cost anything, and threads over
// slices of the rows.
#include <algorithm>

#include "design/dense_rows.hpp"
#include "design/gather.hpp"
#include "logistic/evaluation.hpp"
#include "logistic/pass.hpp"

namespace labelweave::logistic {
namespace {

constexpr std::size_t kRowsPerSlice = 256, kMostSlices = 4;

// How many slices there are depends on the data only, so that sums are the same for any team.
std::size_t n_slices_of(const design::Design& design) {
    return std::clamp<std::size_t>(design.n_rows / kRowsPerSlice, 1, kMostSlices);
}

// Room of a slice: eight rows, a gradient per lane, the intercept's and the extras' gradients.
std::size_t slice_room(const design::Design& design) {
    return 2 * kLanes * design::n_vectors_of(design) + 1 + design.n_extras;
}

// The lanes that take part, and their directions as vectors over the features, zero-padded.
struct BusyLanes {
    int n = 0, lane[kLanes];
    const Lanes* v[kLanes];

    BusyLanes(const Pass& pass, Lanes* room) {
        const std::size_t n_vectors = design::n_vectors_of(pass.design);
        for (int k = 0; k < kLanes; ++k) {
            if (!pass.busy[k]) continue;
            for (std::size_t f = 0; f < n_vectors * kLanes; ++f)
                room[f / kLanes][f % kLanes] = f < pass.design.n_features ? pass.direction[f][k] : 0.0;
            lane[n] = k;
            v[n++] = room;
            room += n_vectors;
        }
    }
};

// One slice of a pass, eight rows at a time, copied into whole vectors.
struct DenseSlice : design::DenseRows {
    const BusyLanes& busy;
    Lanes* copies;
    Lanes *intercept, *extra_gradient;  // gradients of the other columns, all lanes together

    LABELWEAVE_INLINE DenseSlice(const Pass& pass, const BusyLanes& lanes, Lanes* room) : busy(lanes) {
        std::fill(room, room + slice_room(pass.design), Lanes{});
        n_vectors = design::n_vectors_of(pass.design);
        rows = copies = room;
        for (int k = 0; k < busy.n; ++k) v[k] = busy.v[k];
        for (int k = 0; k < kLanes; ++k) g[k] = room + (kLanes + k) * n_vectors;
        intercept = room + 2 * kLanes * n_vectors;
        extra_gradient = intercept + 1;
    }

    LABELWEAVE_INLINE void read_rows(const design::Design& design, std::size_t first, std::size_t n) {
        const std::size_t d = design.n_features, whole = d / kLanes;
        for (std::size_t i = 0; i < n; ++i) {
            const double* from = design.dense + (first + i) * d;
            Lanes* to = copies + i * n_vectors;
            for (std::size_t k = 0; k < whole; ++k) to[k] = load(from + k * kLanes);
            for (std::size_t f = whole * kLanes; f < d; ++f) reinterpret_cast<double*>(to)[f] = from[f];
        }
    }

    LABELWEAVE_INLINE void respond(const Pass& pass, std::size_t first, std::size_t n, Tally& tally) {
        for (int k = 0; k < busy.n; ++k) {
            r[k] = Lanes{};
            double* response = reinterpret_cast<double*>(&r[k]);
            const double* product = reinterpret_cast<const double*>(&u[k]);
            if (pass.evaluating[busy.lane[k]]) {
                evaluate_lane<kLanes, 1>(pass, busy.lane[k], first, n, product, response, tally);
                continue;
            }
            const double* curvature = pass.curvature + busy.lane[k] * pass.design.n_rows + first;
            for (std::size_t i = 0; i < n; ++i) response[i] = curvature[i] * product[i];
            tally.product[busy.lane[k]] += sum(r[k] * u[k]);
        }
    }

    LABELWEAVE_INLINE void add_extras(const Pass& pass, std::size_t first, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            const Lanes extra =
                design::gather(pass.design.extras, first + i, pass.direction + pass.design.first_extra(), Lanes{});
            for (int k = 0; k < busy.n; ++k) u[k][i] += extra[busy.lane[k]];
        }
    }

    LABELWEAVE_INLINE void scatter_extras(const Pass& pass, std::size_t first, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            Lanes response{};
            for (int k = 0; k < busy.n; ++k) response[busy.lane[k]] = r[k][i];
            design::scatter(pass.design.extras, first + i, response, extra_gradient);
        }
    }
};

LABELWEAVE_KERNEL void slice_pass(const Pass& pass, const BusyLanes& busy, std::size_t begin, std::size_t end,
                                  Lanes* room, Tally& tally) {
    const design::Design& design = pass.design;
    DenseSlice slice(pass, busy, room);
    for (std::size_t first = begin; first < end; first += kLanes) {
        const std::size_t n = std::min<std::size_t>(kLanes, end - first);
        slice.read_rows(design, first, n);
        slice.ahead = reinterpret_cast<const char*>(design.dense + (first + n) * design.n_features);
        for (int k = 0; k < busy.n; ++k) slice.u[k] = broadcast(pass.direction[design.intercept()][busy.lane[k]]);
        slice.forward_all(busy.n);
        if (design.n_extras) slice.add_extras(pass, first, n);
        slice.respond(pass, first, n, tally);
        if (design.n_extras) slice.scatter_extras(pass, first, n);
        slice.backward_all(busy.n);
        for (int k = 0; k < busy.n; ++k) (*slice.intercept)[busy.lane[k]] += sum(slice.r[k]);
    }
}

// Add a slice's sums to the gradient.
void add_slice(const Pass& pass, const BusyLanes& busy, const Lanes* room, Lanes* gradient) {
    const design::Design& design = pass.design;
    const std::size_t n_vectors = design::n_vectors_of(design);
    for (int k = 0; k < busy.n; ++k) {
        const Lanes* g = room + (kLanes + k) * n_vectors;
        for (std::size_t f = 0; f < design.n_features; ++f) gradient[f][busy.lane[k]] += g[f / kLanes][f % kLanes];
    }
    const Lanes* others = room + 2 * kLanes * n_vectors;  // intercept and extras follow each other in both
    for (std::size_t e = 0; e < 1 + design.n_extras; ++e) gradient[design.intercept() + e] += others[e];
}

}  // namespace

std::size_t dense_room(const design::Design& design) {
    return kLanes * design::n_vectors_of(design) + n_slices_of(design) * slice_room(design);
}

void dense_pass(const Pass& pass, threads::ThreadTeam& team, Lanes* room, Lanes* gradient, Tally& tally) {
    const design::Design& design = pass.design;
    const BusyLanes busy(pass, room);
    const std::size_t n_slices = n_slices_of(design);
    Lanes* first_slice = room + kLanes * design::n_vectors_of(design);
    Tally tallies[kMostSlices];
    team.run(static_cast<std::uint32_t>(n_slices), [&](std::size_t k) {
        slice_pass(pass, busy, k * design.n_rows / n_slices, (k + 1) * design.n_rows / n_slices,
                   first_slice + k * slice_room(design), tallies[k]);
    });
    std::fill(gradient, gradient + design.width(), Lanes{});
    for (std::size_t k = 0; k < n_slices; ++k) {
        add_slice(pass, busy, first_slice + k * slice_room(design), gradient);
        tally += tallies[k];
    }
}

}  // namespace labelweave::logistic
