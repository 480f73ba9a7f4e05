// If k labels are predicted and s are true, each correct one counts 1/a with a = (k + β² s) / (1 + β²), and
// 1/a = Σ_n weight_n v_n^k u_n^s (reciprocal_rule.hpp). Let S be the number of predicted labels that are true. With
// independent labels, the mean of S u^|y| is Π_j (q_j + p_j u) · Σ_{predicted j} p_j u / (q_j + p_j u). One pass over
// labels and nodes therefore gives the expected F-measures of the k most probable labels for all k and any β. Every
// term is positive.
#include "decision/independent_f_measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "decision/f_measure.hpp"
#include "decision/reciprocal_rule.hpp"
#include "simd/lane_math.hpp"
#include "threads/share_rows.hpp"

namespace labelweave::decision {
namespace {

// Up to this many labels, counting is faster than sorting, which mispredicts every other branch.
constexpr std::size_t kMostCounted = 512;
// With more labels, this many are sorted at first; if few labels are likely, no more are needed.
constexpr std::size_t kFirstSorted = 16;

// The nodes, which all rows share, eight to a pack; padding nodes of the last pack have weight zero.
struct Nodes {
    Nodes(const ReciprocalRule& rule, double beta)
        : share(1.0 / (1.0 + beta * beta)), n_packs((rule.size() + kLanes - 1) / kLanes), weight(n_packs), u(n_packs),
          v(n_packs) {
        for (std::size_t n = 0; n < rule.size(); ++n) {
            weight.numbers()[n] = rule.weights[n];
            u.numbers()[n] = std::exp(-rule.rates[n] * (1.0 - share));
            v.numbers()[n] = std::exp(-rule.rates[n] * share);
        }
    }

    double share;  // of the predicted labels in the denominator, 1 / (1 + β²); the true ones have the rest
    std::size_t n_packs;
    LaneArray weight, u, v;
};

// The state of one thread, which handles row after row.
class IndependentF {
  public:
    IndependentF(std::size_t n_labels, const Nodes& nodes)
        : n_labels_(n_labels), n_label_packs_((n_labels + kLanes - 1) / kLanes), nodes_(nodes), zero_(n_label_packs_),
          one_(n_label_packs_), found_(nodes.n_packs), rest_(nodes.n_packs), order_(n_labels) {}

    void decide(const double* scores, std::int8_t* labels) {
        load_row(scores);
        std::fill_n(labels, n_labels_, std::int8_t{0});
        double best = none_ * kBetter;
        std::size_t best_size = 0;
        for (std::size_t k = 0; k < n_labels_ && bound(k + 1) > best; k += 2) {
            sort_up_to(k + 2);
            const std::size_t last = std::min<std::size_t>(2, n_labels_ - k);
            const Pair expected = add(order_[k], last == 2 ? order_[k + 1] : kNone);
            for (std::size_t i = 0; i < last; ++i) {
                if (expected.of[i] <= best) continue;
                best = expected.of[i] * kBetter;
                best_size = k + i + 1;
            }
        }
        for (std::size_t r = 0; r < best_size; ++r) labels[order_[r]] = 1;
    }

    double expected(const double* scores, const std::int8_t* labels) {
        load_row(scores);
        double latest = none_;  // the empty prediction is correct if no label is true
        std::size_t waiting = kNone;
        for (std::size_t j = 0; j < n_labels_; ++j) {
            if (!labels[j]) continue;
            if (waiting == kNone) {
                waiting = j;
            } else {
                latest = add(waiting, j).of[1];
                waiting = kNone;
            }
        }
        return waiting == kNone ? latest : add(waiting, kNone).of[0];
    }

  private:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    struct Pair {
        double of[2];
    };

    // The probabilities of labels and of no label, and for each node the weight times Π_j (q_j + p_j u).
    LABELWEAVE_KERNEL void load_row(const double* scores) {
        std::copy_n(scores, n_labels_, one_.numbers());
        std::fill(one_.numbers() + n_labels_, one_.numbers() + n_label_packs_ * kLanes,
                  -std::numeric_limits<double>::infinity());
        Lanes none(1.0), total{};
        for (std::size_t i = 0; i < n_label_packs_; ++i) {
            const Bernoulli label = bernoulli(one_.at(i));
            one_.put(i, label.one);
            zero_.put(i, label.zero);
            total += label.one;
            none *= label.zero;
        }
        none_ = 1.0;
        for (int lane = 0; lane < kLanes; ++lane) none_ *= none[lane];
        mean_ = sum(total);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        sorted_ = 0;
        for (std::size_t n = 0; n < nodes_.n_packs; ++n) load_node(n);
    }

    LABELWEAVE_INLINE void load_node(std::size_t n) {
        const double *zero = zero_.numbers(), *one = one_.numbers();
        const Lanes u = nodes_.u.at(n);
        Lanes product = nodes_.weight.at(n);
        for (std::size_t j = 0; j < n_label_packs_ * kLanes; j += 4) {
            const Lanes first = (zero[j] + one[j] * u) * (zero[j + 1] + one[j + 1] * u);
            const Lanes second = (zero[j + 2] + one[j + 2] * u) * (zero[j + 3] + one[j + 3] * u);
            product *= first * second;
        }
        rest_.put(n, product);
        found_.put(n, Lanes{});
    }

    // A bound on k labels, which falls with k: all true labels are among them, and x / (x + c) is concave (Jensen). A
    // small term covers rounding.
    double bound(std::size_t k) const {
        const double size = nodes_.share * static_cast<double>(k);
        return mean_ / ((1.0 - nodes_.share) * mean_ + size) * (1.0 + 1e-12);
    }

    // Predict one more label, then a second one, and return both expected F-measures. The two need one division.
    LABELWEAVE_KERNEL Pair add(std::size_t i, std::size_t j) {
        const Lanes zero_i(zero_.numbers()[i]), one_i(one_.numbers()[i]);
        const Lanes zero_j(j == kNone ? 1.0 : zero_.numbers()[j]), one_j(j == kNone ? 0.0 : one_.numbers()[j]);
        Lanes with_one{}, with_both{};
        for (std::size_t n = 0; n < nodes_.n_packs; ++n) {
            const Lanes u = nodes_.u.at(n), v = nodes_.v.at(n);
            const Lanes factor_i = zero_i + one_i * u, factor_j = zero_j + one_j * u;
            const Lanes ratio = u / (factor_i * factor_j);
            const Lanes found = found_.at(n) + one_i * (factor_j * ratio), rest = rest_.at(n) * v;
            const Lanes found_both = found + one_j * (factor_i * ratio), rest_both = rest * v;
            with_one += found * rest;
            with_both += found_both * rest_both;
            found_.put(n, found_both);
            rest_.put(n, rest_both);
        }
        return {{sum(with_one), sum(with_both)}};
    }

    // Sort the most probable labels to the first `count` places of `order_`.
    void sort_up_to(std::size_t count) {
        if (std::min(count, n_labels_) <= sorted_) return;
        if (n_labels_ <= kMostCounted) return sort_by_counting();
        const double* one = one_.numbers();
        const auto comes_first = [one](std::size_t a, std::size_t b) {
            return one[a] > one[b] || (one[a] == one[b] && a < b);
        };
        const std::size_t end = std::min(n_labels_, std::max(kFirstSorted, 2 * sorted_));
        const auto begin = order_.begin();
        if (end < n_labels_) std::nth_element(begin + sorted_, begin + end, order_.end(), comes_first);
        std::sort(begin + sorted_, begin + end, comes_first);
        sorted_ = end;
    }

    // Count for each label, eight at a time, those that come before it: among equals the first ones.
    LABELWEAVE_KERNEL void sort_by_counting() {
        static constexpr std::int64_t kLaneNumbers[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7};
        const LaneMask lane = LaneMask::load(kLaneNumbers);
        const double* one = one_.numbers();
        for (std::size_t first = 0; first < n_label_packs_ * kLanes; first += kLanes) {
            const Lanes mine = load(one + first);
            LaneMask before = LaneMask::zero();  // counted downwards: a lane that is true is -1
            for (std::size_t j = 0; j < first; ++j) before += broadcast(one[j]) >= mine;
            for (std::size_t j = 0; j < kLanes; ++j) {
                const Lanes other(one[first + j]);
                before += (other > mine) | ((other >= mine) & (lane > LaneMask(static_cast<std::int64_t>(j))));
            }
            for (std::size_t j = first + kLanes; j < n_labels_; ++j) before += broadcast(one[j]) > mine;
            std::int64_t ranks[kLanes];
            (-before).store(ranks);
            for (std::size_t j = 0; j < kLanes && first + j < n_labels_; ++j)
                order_[static_cast<std::size_t>(ranks[j])] = first + j;
        }
        sorted_ = n_labels_;
    }

    std::size_t n_labels_, n_label_packs_;
    const Nodes& nodes_;
    LaneArray zero_, one_;  // probabilities of the labels
    LaneArray found_;       // Σ p_j u / (q_j + p_j u) over the predicted labels
    LaneArray rest_;        // weight · v^k · Π_j (q_j + p_j u)
    std::vector<std::size_t> order_;
    std::size_t sorted_ = 0;
    double none_ = 0.0, mean_ = 0.0;  // probability of no label, mean number of labels
};

}  // namespace

void best_independent_f_measure(const double* scores, std::size_t n_rows, std::size_t n_labels, double beta,
                                std::int8_t* labels, int n_threads, threads::Interrupt& interrupt) {
    const Nodes nodes(ReciprocalRule(n_labels), beta);
    threads::share_rows(n_rows, n_threads, interrupt, [&] {
        return [&, worker = IndependentF(n_labels, nodes)](std::size_t row) mutable {
            worker.decide(scores + row * n_labels, labels + row * n_labels);
        };
    });
}

void expected_independent_f_measure(const double* scores, const std::int8_t* labels, std::size_t n_rows,
                                    std::size_t n_labels, double beta, double* expected, int n_threads,
                                    threads::Interrupt& interrupt) {
    const Nodes nodes(ReciprocalRule(n_labels), beta);
    threads::share_rows(n_rows, n_threads, interrupt, [&] {
        return [&, worker = IndependentF(n_labels, nodes)](std::size_t row) mutable {
            expected[row] = worker.expected(scores + row * n_labels, labels + row * n_labels);
        };
    });
}

}  // namespace labelweave::decision
