// Products of eight rows of a dense X with a few vectors: SIMD over the features, so that missing vectors cost nothing.
#pragma once

#include "design/design.hpp"
#include "simd/row_sums.hpp"

namespace labelweave::design {

inline std::size_t n_vectors_of(const Design& design) { return (design.n_features + kLanes - 1) / kLanes; }

using Part = Lanes::Part;

// A load that is made once and kept in a register, where the compiler would rather repeat it.
LABELWEAVE_INLINE Part load_once(const Part& from) { return *static_cast<const volatile Part*>(&from); }

// An array of Lanes register by register.
LABELWEAVE_INLINE const Part* registers_of(const Lanes* lanes) { return reinterpret_cast<const Part*>(lanes); }
LABELWEAVE_INLINE Part* registers_of(Lanes* lanes) { return reinterpret_cast<Part*>(lanes); }

// The largest power of two, up to eight, of which n make no more than kSums.
constexpr int tile_size(int n) {
    int size = kLanes;
    while (size > 1 && n * size > kSums) size /= 2;
    return size;
}

// Eight rows of whole, aligned vectors, which the forward and the backward product read once for three vectors.
struct DenseRows {
    std::size_t n_vectors;
    const Lanes* rows;           // kLanes rows of n_vectors, zero-padded
    const Lanes* v[kLanes];      // the factors of the rows, vectors over the features
    Lanes* g[kLanes];            // the sums of their transposed products
    Lanes u[kLanes], r[kLanes];  // products and responses of the eight rows
    // X comes from beyond the near caches: while eight rows are worked on, the next ones are fetched,
    // a few lines with every step so that memory and arithmetic overlap.
    const char* ahead = nullptr;

    template <int Lines>
    LABELWEAVE_INLINE static const char* fetch(const char* from) {
        for (int line = 0; line < Lines; ++line) __builtin_prefetch(from + 64 * line, 0, 2);
        return from + Lines * 64;
    }

    // sums[j][i] += x_i v_j for one register's share of the features. The smaller side stays in registers while the
    // other one is read.
    template <int N, int Rows>
    LABELWEAVE_INLINE void multiply(int first_lane, const Lanes* row, std::size_t k, int p, Lanes (&sums)[N][Rows]) {
        if constexpr (Rows <= N) {
            Part x[Rows];
            for (int i = 0; i < Rows; ++i) x[i] = load_once(row[i * n_vectors + k].part[p]);
            for (int j = 0; j < N; ++j) {
                const Part w = load_once(v[first_lane + j][k].part[p]);
                for (int i = 0; i < Rows; ++i) sums[j][i].part[p] += x[i] * w;
            }
        } else {
            for (int i = 0; i < Rows; ++i) {
                const Part x = load_once(row[i * n_vectors + k].part[p]);
                for (int j = 0; j < N; ++j) sums[j][i].part[p] += x * v[first_lane + j][k].part[p];
            }
        }
    }

    // The sums of N lanes over some rows, for the registers [begin, end) of every vector.
    template <int N, int Rows>
    LABELWEAVE_INLINE void add_products(int first_lane, const Lanes* row, int begin, int end, Lanes (&sums)[N][Rows]) {
        constexpr int n_lines = Rows == kLanes ? 3 : 1;
        const char* next = ahead;
        for (std::size_t k = 0; k < n_vectors; ++k) {
            next = fetch<n_lines>(next);
            for (int p = begin; p < end; ++p) multiply(first_lane, row, k, p, sums);
        }
        ahead = next;
    }

    // u += X v for N lanes, as many rows at a time as there are registers for sums.
    template <int N>
    LABELWEAVE_INLINE void forward(int first_lane) {
        constexpr int n_parts = kFused ? Lanes::kParts : 1, n_rows = tile_size(N * n_parts);
        Lanes totals[N][kLanes];
        for (int first = 0; first < kLanes; first += n_rows) {
            Lanes sums[N][n_rows]{};
            Lanes::each([&](int p) {
                if (p % n_parts == 0) add_products(first_lane, rows + first * n_vectors, p, p + n_parts, sums);
            });
            for (int j = 0; j < N; ++j)
                for (int i = 0; i < n_rows; ++i) totals[j][first + i] = sums[j][i];
        }
        for (int j = 0; j < N; ++j) u[first_lane + j] += row_sums(totals[j]);
    }

    // g += X' r for N lanes, Tile registers at a time, from register q of a row on as far as whole tiles go.
    template <int N, int Tile>
    LABELWEAVE_INLINE std::size_t backward(int first_lane, std::size_t q, const double (&response)[N][kLanes]) {
        const std::size_t n_parts = n_vectors * Lanes::kParts;
        const Part* row = registers_of(rows);
        const char* next = ahead;
        for (; q + Tile <= n_parts; q += Tile) {
            next = fetch<(3 * Tile + Lanes::kParts - 1) / Lanes::kParts>(next);
            Part sums[N][Tile];
            for (int j = 0; j < N; ++j)
                for (int t = 0; t < Tile; ++t) sums[j][t] = registers_of(g[first_lane + j])[q + t];
            for (int i = 0; i < kLanes; ++i)
                for (int t = 0; t < Tile; ++t) {
                    const Part x = load_once(row[i * n_parts + q + t]);
                    for (int j = 0; j < N; ++j) sums[j][t] += x * response[j][i];
                }
            for (int j = 0; j < N; ++j)
                for (int t = 0; t < Tile; ++t) registers_of(g[first_lane + j])[q + t] = sums[j][t];
        }
        ahead = next;
        return q;
    }

    template <int N>
    LABELWEAVE_INLINE void backward(int first_lane) {
        double response[N][kLanes];
        for (int j = 0; j < N; ++j) store(response[j], r[first_lane + j]);
        // Registers that hold all responses have no room for a second sum and do not need it.
        constexpr int tile = kRegisters >= 32 ? 1 : tile_size(N);
        const std::size_t q = backward<N, tile>(first_lane, 0, response);
        if (tile > 1) backward<N, 1>(first_lane, q, response);
    }

    LABELWEAVE_INLINE void forward_all(int n) {
        int k = 0;
        for (; k + 3 <= n; k += 3) forward<3>(k);
        if (k + 2 == n) forward<2>(k);
        if (k + 1 == n) forward<1>(k);
    }

    LABELWEAVE_INLINE void backward_all(int n) {
        int k = 0;
        for (; k + 3 <= n; k += 3) backward<3>(k);
        if (k + 2 == n) backward<2>(k);
        if (k + 1 == n) backward<1>(k);
    }
};

}  // namespace labelweave::design
