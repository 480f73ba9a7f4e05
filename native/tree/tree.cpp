#include "tree/tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "simd/lane_math.hpp"
#include "threads/parallel.hpp"
#include "tree/factors.hpp"

namespace labelweave::tree {
namespace {

constexpr std::size_t kRowBlock = 256;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double log_add(double x, double y) {
    const double high = std::max(x, y), low = std::min(x, y);
    return low == -kInfinity ? high : high + std::log1p(std::exp(low - high));
}

// Max-sum for one row after the other.
class ModeRow {
  public:
    explicit ModeRow(const Tree& tree) : tree_(tree), below_(2 * tree.n_labels) {}

    double run(RowFactors logs, std::int8_t* labels) {
        std::fill(below_.begin(), below_.end(), 0.0);
        for (std::size_t t = tree_.n_labels; t-- > 0;) {
            const auto i = static_cast<std::size_t>(tree_.order[t]);
            const std::int64_t parent = tree_.parents[i];
            if (parent < 0) continue;
            for (int a = 0; a < 2; ++a)
                below_[2 * parent + a] +=
                    std::max(logs.zero[2 * i + a] + below_[2 * i], logs.one[2 * i + a] + below_[2 * i + 1]);
        }
        for (std::size_t t = 0; t < tree_.n_labels; ++t) {
            const auto i = static_cast<std::size_t>(tree_.order[t]);
            const std::size_t at = factor_at(tree_.parents, labels, i);
            labels[i] = logs.one[at] + below_[2 * i + 1] > logs.zero[at] + below_[2 * i];
        }
        return vector_log_prob(logs, tree_.parents, labels, tree_.n_labels);
    }

  private:
    const Tree& tree_;
    std::vector<double> below_;  // [i, b]: the most all descendants of i can add when y_i = b
};

// Evidence for one row after the other: messages from the leaves make the new conditionals.
class ConditionRow {
  public:
    explicit ConditionRow(const Tree& tree) : tree_(tree), below_(2 * tree.n_labels) {}

    double run(std::size_t row, RowFactors logs, const std::int8_t* known, double* posterior) {
        std::fill(below_.begin(), below_.end(), 0.0);
        double total = 0.0;
        for (std::size_t t = tree_.n_labels; t-- > 0;) {
            const auto i = static_cast<std::size_t>(tree_.order[t]);
            const std::int64_t parent = tree_.parents[i];
            if (known[i] >= 0) below_[2 * i + (known[i] == 0)] = -kInfinity;
            update(tree_.row(row) + 2 * i, i, known[i], posterior + 2 * i);
            if (parent < 0)
                total += message(logs, i, 0);
            else
                for (int a = 0; a < 2; ++a) below_[2 * parent + a] += message(logs, i, a);
        }
        return total;
    }

  private:
    // log P(evidence at i and below | parent at a). Without evidence it is zero to the last bit.
    double message(RowFactors logs, std::size_t i, int a) const {
        const double zero = below_[2 * i], one = below_[2 * i + 1];
        return zero == one ? zero : log_add(logs.zero[2 * i + a] + zero, logs.one[2 * i + a] + one);
    }

    void update(const double* z, std::size_t i, std::int8_t known, double* out) const {
        if (known >= 0) {
            out[0] = out[1] = known ? kInfinity : -kInfinity;
            return;
        }
        const double zero = below_[2 * i], one = below_[2 * i + 1];
        for (int a = 0; a < 2; ++a) out[a] = zero == one ? z[a] : z[a] + (one - zero);
        // A parent value that makes the evidence impossible will not occur; it may take the other value's conditional.
        for (int a = 0; a < 2; ++a)
            if (std::isnan(out[a])) out[a] = std::isnan(out[1 - a]) ? 0.0 : out[1 - a];
    }

    const Tree& tree_;
    std::vector<double> below_;  // [i, b]: log P(evidence at and below i | y_i = b), without y_i's own factor
};

// P(y_i = 1) and P(y_i = 0) of one row; both are kept, for one minus the other would lose the small ones.
void fill_marginals(const Tree& tree, RowFactors factors, double* one, double* zero) {
    for (std::size_t t = 0; t < tree.n_labels; ++t) {
        const auto i = static_cast<std::size_t>(tree.order[t]);
        const std::int64_t parent = tree.parents[i];
        const double p1 = parent < 0 ? 0.0 : one[parent], p0 = parent < 0 ? 1.0 : zero[parent];
        one[i] = std::min(1.0, p0 * factors.one[2 * i] + p1 * factors.one[2 * i + 1]);
        zero[i] = std::min(1.0, p0 * factors.zero[2 * i] + p1 * factors.zero[2 * i + 1]);
    }
}

// Call use(row, its conditionals) for the rows from begin to end, converted a few at a time.
template <class Load, class Use>
void each_row(const Tree& tree, std::size_t begin, std::size_t end, Load&& load, Use&& use) {
    const std::size_t chunk = rows_at_once(tree.n_labels);
    Factors factors(tree.n_labels, std::min(chunk, end - begin));
    for (std::size_t first = begin; first < end; first += chunk) {
        const std::size_t count = std::min(chunk, end - first);
        load(factors, first, count);
        for (std::size_t k = 0; k < count; ++k) use(first + k, factors.row(k));
    }
}

// One vector a row: only the conditionals it meets are evaluated.
void log_prob_of_one(const Tree& tree, const std::int8_t* labels, std::size_t begin, std::size_t end,
                     double* log_prob) {
    const std::size_t n = tree.n_labels, chunk = rows_at_once(n);
    std::vector<double> odds(std::min(chunk, end - begin) * n + kLanes);
    for (std::size_t first = begin; first < end; first += chunk) {
        const std::size_t count = std::min(chunk, end - first);
        for (std::size_t k = 0; k < count; ++k) {
            const double* z = tree.row(first + k);
            const std::int8_t* y = labels + (first + k) * n;
            for (std::size_t i = 0; i < n; ++i) {
                const double here = z[factor_at(tree.parents, y, i)];
                odds[k * n + i] = here * (2 * (y[i] & 1) - 1);  // no branch: labels cannot be foreseen
            }
        }
        sum_log_likelihoods(odds.data(), count, n, log_prob + first);
    }
}

}  // namespace

void log_prob(const Tree& tree, const std::int8_t* labels, std::size_t n_vectors, double* log_prob, int n_threads) {
    threads::parallel_rows(tree.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        if (n_vectors == 1) return log_prob_of_one(tree, labels, begin, end, log_prob);
        const auto load = [&](Factors& f, std::size_t first, std::size_t count) { f.load_logs(tree, first, count); };
        each_row(tree, begin, end, load, [&](std::size_t i, RowFactors logs) {
            for (std::size_t v = i * n_vectors; v < (i + 1) * n_vectors; ++v)
                log_prob[v] = vector_log_prob(logs, tree.parents, labels + v * tree.n_labels, tree.n_labels);
        });
    });
}

void mode(const Tree& tree, std::int8_t* labels, double* log_prob, int n_threads) {
    threads::parallel_rows(tree.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        ModeRow mode(tree);
        const auto load = [&](Factors& f, std::size_t first, std::size_t count) { f.load_logs(tree, first, count); };
        each_row(tree, begin, end, load,
                 [&](std::size_t i, RowFactors logs) { log_prob[i] = mode.run(logs, labels + i * tree.n_labels); });
    });
}

void marginals(const Tree& tree, double* marginals, int n_threads) {
    threads::parallel_rows(tree.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> zero(tree.n_labels);
        const auto load = [&](Factors& f, std::size_t first, std::size_t count) { f.load(tree, first, count); };
        each_row(tree, begin, end, load, [&](std::size_t i, RowFactors factors) {
            fill_marginals(tree, factors, marginals + i * tree.n_labels, zero.data());
        });
    });
}

void condition(const Tree& tree, const std::int8_t* known, double* posterior, double* log_prob, int n_threads) {
    threads::parallel_rows(tree.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        ConditionRow condition(tree);
        const auto load = [&](Factors& f, std::size_t first, std::size_t count) { f.load_logs(tree, first, count); };
        each_row(tree, begin, end, load, [&](std::size_t i, RowFactors logs) {
            log_prob[i] = condition.run(i, logs, known + i * tree.n_labels, posterior + 2 * i * tree.n_labels);
        });
    });
}

}  // namespace labelweave::tree
