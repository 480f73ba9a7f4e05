#include "field/annealed_importance.hpp"

#include <cmath>
#include <vector>

#include "random/philox.hpp"
#include "threads/share_rows.hpp"

namespace labelweave::field {
namespace {

// One draw in progress: its labels, and the terms of positive labels in the log-odds of each label. Flips are rare near
// a mode, so a flip updates the terms of its neighbours, and reading a log-odds is cheap.
struct Walker {
    explicit Walker(const Field& f) : field(f), base(f.n_labels), outside(f.n_labels) {}

    const Field& field;
    std::vector<double> base, outside;  // scores and inside couplings; outside couplings

    void start(std::size_t row, const std::int8_t* y) {
        const std::size_t n = field.n_labels;
        const std::int8_t* known = field.known + row * n;
        for (std::size_t j = 0; j < n; ++j) base[j] = field.scores[row * n + j], outside[j] = 0.0;
        for (std::size_t j = 0; j < n; ++j)
            if (known[j] < 0 && y[j]) add(j, 1.0);
    }

    void add(std::size_t label, double sign) {
        const double* in = field.inside + label * field.n_labels;
        const double* out = field.outside + label * field.n_labels;
        for (std::size_t k = 0; k < field.n_labels; ++k) {
            base[k] += sign * in[k];
            outside[k] += sign * out[k];
        }
    }

    // ½ yᵀRy of the outside couplings R.
    double outside_energy(std::size_t row, const std::int8_t* y) const {
        const std::int8_t* known = field.known + row * field.n_labels;
        double sum = 0.0;
        for (std::size_t j = 0; j < field.n_labels; ++j)
            if (known[j] < 0 && y[j]) sum += outside[j];
        return sum / 2;
    }

    void sweep(std::size_t row, std::int8_t* y, double strength, std::uint64_t seed, std::uint64_t id,
               std::uint32_t draw) {
        const std::int8_t* known = field.known + row * field.n_labels;
        for (std::size_t j = 0; j < field.n_labels; ++j) {
            if (known[j] >= 0) continue;
            const double odds = std::exp(-(base[j] + strength * outside[j]));
            const double u = random::uniform(seed, id, draw, static_cast<std::uint32_t>(j));
            const std::int8_t drawn = u * (1.0 + odds) < 1.0;
            if (drawn == y[j]) continue;
            y[j] = drawn;
            add(j, drawn ? 1.0 : -1.0);
        }
    }
};

}  // namespace

void anneal(const Field& field, const std::int64_t* rows, const std::uint64_t* seeds, std::size_t n_steps,
            std::size_t n_draws, std::int8_t* labels, double* log_weight, int n_threads,
            threads::Interrupt& interrupt) {
    const auto work = [&] {
        return [&, walker = Walker(field)](std::size_t row) mutable {
            for (std::size_t draw = 0; draw < n_draws; ++draw) {
                interrupt.check();
                std::int8_t* y = labels + (row * n_draws + draw) * field.n_labels;
                double weight = 0.0;
                walker.start(row, y);
                for (std::size_t step = 0; step < n_steps; ++step) {
                    weight += walker.outside_energy(row, y) / static_cast<double>(n_steps);
                    walker.sweep(row, y, static_cast<double>(step + 1) / static_cast<double>(n_steps), seeds[step],
                                 static_cast<std::uint64_t>(rows[row]), static_cast<std::uint32_t>(draw));
                }
                log_weight[row * n_draws + draw] = weight;
            }
        };
    };
    threads::share_rows(field.n_rows, n_threads, interrupt, work, 1);
}

}  // namespace labelweave::field
