// The largest kernels on small problems whose answers can be verified in a few lines of plain C++.
#include <random>
#include <vector>

#include "chain/chain.hpp"
#include "chain/gibbs.hpp"
#include "check.hpp"
#include "logistic/limited_memory.hpp"
#include "logistic/solver.hpp"
#include "simd/scalar_math.hpp"

using namespace labelweave;

namespace {

std::mt19937_64 generator(1);

double normal() { return std::normal_distribution<double>()(generator); }

threads::Interrupt never() {
    return threads::Interrupt([] { return false; });
}

// At the optimum X'(p - t) + w / C = 0 for the weights and sum (p - t) = 0 for the intercept.
void check_optimum(const std::vector<double>& x, std::size_t n, std::size_t d, const std::int8_t* t, const double* w) {
    std::vector<double> gradient(d + 1, 0.0);
    for (std::size_t f = 0; f < d; ++f) gradient[f] = w[f];
    for (std::size_t i = 0; i < n; ++i) {
        double z = w[d];
        for (std::size_t f = 0; f < d; ++f) z += x[i * d + f] * w[f];
        const double residual = sigmoid(z) - t[i];
        for (std::size_t f = 0; f < d; ++f) gradient[f] += residual * x[i * d + f];
        gradient[d] += residual;
    }
    for (const double g : gradient) check(std::fabs(g) < 1e-4 * static_cast<double>(n), "gradient", g, 0.0);
}

void test_logistic(bool sparse, int n_threads) {
    constexpr std::size_t n = 700, d = 21, n_targets = 11;
    std::vector<double> x(n * d), values;
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t f = 0; f < d; ++f) {
            x[i * d + f] = !sparse || generator() % 4 == 0 ? normal() : 0.0;
            if (x[i * d + f] == 0.0) continue;
            indices.push_back(static_cast<std::int32_t>(f));
            values.push_back(x[i * d + f]);
        }
        indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
    std::vector<std::int8_t> targets(n_targets * n);
    for (std::size_t k = 0; k < n_targets; ++k)
        for (std::size_t i = 0; i < n; ++i) targets[k * n + i] = x[i * d + k] + normal() > 0.3;
    std::vector<std::int32_t> target(n_targets);
    for (std::size_t k = 0; k < n_targets; ++k) target[k] = static_cast<std::int32_t>(k);
    const std::vector<double> ones(n_targets, 1.0);
    std::vector<double> coef(n_targets * (d + 1)), objective(n_targets), held_out(n_targets), start(n_targets, 0.0);
    std::vector<std::int32_t> passes(n_targets);
    std::vector<std::uint8_t> converged(n_targets);
    logistic::Problems problems;
    problems.design.n_rows = n;
    problems.design.n_features = d;
    if (sparse)
        problems.design.sparse = {indptr.data(), indices.data(), values.data()};
    else
        problems.design.dense = x.data();
    problems.targets.labels = targets.data();
    problems.targets.n_labels = n_targets;
    problems.n_problems = n_targets;
    problems.target = target.data();
    problems.C = problems.extra_penalty = ones.data();
    problems.start_intercept = start.data();
    logistic::Settings settings;
    settings.tolerance = 1e-10;
    settings.n_threads = n_threads;
    threads::Interrupt interrupt = never();
    logistic::solve(problems, settings,
                    {coef.data(), objective.data(), held_out.data(), passes.data(), converged.data()}, interrupt);
    for (std::size_t k = 0; k < n_targets; ++k) {
        check(converged[k], "converged");
        check_optimum(x, n, d, targets.data() + k * n, coef.data() + k * (d + 1));
    }
}

// The gain that a run reports is the difference of two log-probabilities.
void test_gibbs() {
    constexpr std::size_t n = 13, L = 19, n_sweeps = 9;
    std::vector<double> scores(n * L), coupling(L * L, 0.0);
    std::vector<std::int64_t> order(L), rows(n);
    for (double& z : scores) z = normal() - 1.0;
    for (std::size_t j = 0; j < L; ++j) {
        order[j] = static_cast<std::int64_t>(j);
        for (std::size_t k = 0; k < j; ++k) coupling[j * L + k] = normal();
    }
    for (std::size_t i = 0; i < n; ++i) rows[i] = static_cast<std::int64_t>(i);
    const chain::Chain chain{scores.data(), coupling.data(), order.data(), n, L, L};
    std::vector<std::int8_t> known(n * L, -1), start(n * L, -1), best(n * L), samples(n * n_sweeps * L);
    std::vector<double> log_prob(n), bound(n), best_log_prob(n), gain(n * n_sweeps);
    chain::greedy(chain, start.data(), log_prob.data(), bound.data(), 1);
    const chain::GibbsRun run{known.data(), rows.data(),  5,           0,           n_sweeps,
                              n_sweeps,     start.data(), best.data(), gain.data(), samples.data()};
    threads::Interrupt interrupt = never();
    chain::gibbs(chain, run, 2, interrupt);
    chain::log_prob(chain, best.data(), best_log_prob.data(), 1);
    double moved = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double last = gain[i * n_sweeps + n_sweeps - 1];
        check_close("gain of the best state", last, best_log_prob[i] - log_prob[i], 1e-9);
        check(best_log_prob[i] <= bound[i] + 1e-12, "bound", best_log_prob[i], bound[i]);
        moved += last;
    }
    check(moved > 0.0, "sampling improves on the greedy vector", moved);
}

}  // namespace

// What was recorded of a system inverts it on the span of the directions, whatever the rest of M^-1 (here: 3 I) does;
// without anything recorded M^-1 stays as it is.
void test_limited_memory() {
    constexpr std::size_t d = 6;
    const double features[d] = {};
    design::Design design;
    design.n_rows = 1, design.n_features = d, design.dense = features;
    const std::size_t width = design.width();
    logistic::NewtonState state(design);
    logistic::LimitedMemory memory(design);
    LaneArray h(width), right(width), solution(width);
    for (std::size_t i = 0; i < width; ++i) h[i] = broadcast(1.0 + static_cast<double>(i * i));  // a diagonal system
    for (int step = 0; step < 2; ++step) {
        for (int k = 0; k < kLanes; ++k) state.advancing[k] = k % 2 ? -1 : 0;
        Lanes curvature{};
        for (std::size_t i = 0; i < width; ++i) {
            state.direction[i] = broadcast(i % 2 == static_cast<std::size_t>(step) ? normal() : 0.0);  // conjugate
            state.gradient[i] = h[i] * state.direction[i];
            curvature += state.direction[i] * state.gradient[i];
        }
        memory.record(state, curvature);
    }
    for (int k = 0; k < kLanes; ++k) memory.begin_system(k);
    // H p for the last direction p, scaled by three.
    for (std::size_t i = 0; i < width; ++i) state.residual[i] = 3.0 * state.gradient[i];
    memory.project(state.residual.data(), right.data());
    for (std::size_t i = 0; i < width; ++i) solution[i] = 3.0 * right[i];
    memory.correct(state.residual.data(), solution.data());
    for (std::size_t i = 0; i < width; ++i)
        for (int k = 0; k < kLanes; ++k) {
            const double expected = k % 2 ? 3.0 * state.direction[i][k] : 3.0 * state.residual[i][k];
            check(std::fabs(solution[i][k] - expected) < 1e-5 * (1.0 + std::fabs(expected)), "limited memory",
                  solution[i][k], expected);
        }
}

int main() {
    test_limited_memory();
    for (const bool sparse : {false, true})
        for (const int n_threads : {1, 2}) test_logistic(sparse, n_threads);
    test_gibbs();
    std::printf("%d failures\n", n_failures);
    return n_failures != 0;
}
