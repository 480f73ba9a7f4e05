#include "chain/relaxed_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "chain/coupling.hpp"
#include "chain/relaxed_effects.hpp"
#include "simd/scalar_math.hpp"
#include "threads/share_rows.hpp"

namespace labelweave::chain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The most work for a row: about 200 steps with 256 unknown labels. With fewer steps the bound is useless.
constexpr double kMostWork = 200.0 * 256 * 256 * 256;
constexpr std::size_t kLeastSteps = 60;
// The most partial vectors that may wait; a search with more of them open ends, whatever its budget.
constexpr std::size_t kMostOpen = std::size_t{1} << 22;

double rounding(double log_prob) { return 1e-12 * (1.0 + std::fabs(log_prob)); }

std::size_t affordable_steps(std::size_t steps, std::size_t n) {
    const double size = static_cast<double>(n);
    const auto most = static_cast<std::size_t>(kMostWork / (size * size * size + 1.0));
    return std::min(steps, most) < std::min(steps, kLeastSteps) ? 0 : std::min(steps, most);
}

struct Partial {
    double bound, log_prob, decided;  // decided: the log-probability, the squares and the splits of decided labels
    std::uint32_t depth, slot;
    bool operator<(const Partial& other) const {
        return bound < other.bound || (bound == other.bound && depth < other.depth);
    }
};

// The search for one row after the other; one object for each thread.
class RelaxedSearch {
  public:
    RelaxedSearch(const Coupling& coupling, const RelaxedLimits& limits, threads::Interrupt& interrupt)
        : coupling_(coupling), limits_(limits), interrupt_(interrupt), z_(coupling.stride()) {}

    void run(std::size_t row, const std::int8_t* known, std::int8_t* labels) {
        open_.load(coupling_, row, known);
        best_ = score(row, labels);
        upper_bound_ = kInfinity;
        const std::size_t n = open_.n_unknown(), steps = affordable_steps(limits_.steps, n);
        if (n == 0) upper_bound_ = best_;
        if (n == 0 || steps == 0 || !open_.moderate()) return;
        fitted_.fit(open_, steps, interrupt_);
        effects_.load(open_, fitted_);
        improved_ = false;
        search();
        if (improved_) {
            for (std::size_t k = 0; k < n; ++k) labels[coupling_.label(open_.position(k))] = best_path_[k] > 0.0;
            best_ = score(row, labels);
        }
        upper_bound_ = std::max(best_, upper_bound_);
        if (upper_bound_ <= best_ + rounding(best_)) upper_bound_ = best_;
    }

    double log_prob() const { return best_; }
    double upper_bound() const { return upper_bound_; }

  private:
    void search() {
        const std::size_t n = open_.n_unknown();
        n_words_ = (n + 63) / 64;
        heap_.clear();
        words_.clear();
        free_.clear();
        path_.assign(open_.stride(), 0.0);
        zero_.resize(effects_.stride());
        one_.resize(effects_.stride());
        nodes_ = 0;
        push({effects_.root_bound(), open_.constant(), effects_.constant(), 0, 0});
        while (nodes_ < limits_.budget && heap_.size() < kMostOpen && !heap_.empty() && wins(heap_.front().bound)) {
            interrupt_.check();
            dive(pop());
        }
        upper_bound_ = heap_.empty() ? -kInfinity : heap_.front().bound;
    }

    bool wins(double bound) const { return bound > best_ + rounding(best_); }

    // Extend the best partial vector, and continue with its better continuation while no other vector is better.
    void dive(Partial partial) {
        restore(partial.depth);
        for (;;) {
            ++nodes_;
            const std::array<Partial, 2> next = extended(partial);
            const std::size_t k = partial.depth;
            if (k + 1 == open_.n_unknown()) {
                for (const bool y : {false, true}) record(y, next[y].log_prob);
                return;
            }
            const bool better = !(next[1] < next[0]);
            path_[k] = !better;
            if (wins(next[!better].bound)) push(next[!better]);
            path_[k] = better;
            partial = next[better];
            if (!wins(partial.bound)) return;
            if (nodes_ == limits_.budget || (!heap_.empty() && partial < heap_.front())) return push(partial);
            decide(k, better);
        }
    }

    // The terms of the labels from depth on, given the path before.
    LABELWEAVE_KERNEL void restore(std::size_t depth) {
        const std::size_t begin = depth / kLanes * kLanes, stride = effects_.stride();
        std::copy_n(effects_.after_zeros(depth, false) + begin, stride - begin, &zero_[begin]);
        std::copy_n(effects_.after_zeros(depth, true) + begin, stride - begin, &one_[begin]);
        for (std::size_t k = 0; k < depth; ++k) {
            if (path_[k] == 0.0) continue;
            const double *zero = effects_.of(k, false), *one = effects_.of(k, true);
            for (std::size_t j = begin; j < stride; j += kLanes) {
                store(&zero_[j], load(&zero_[j]) + load(zero + j));
                store(&one_[j], load(&one_[j]) + load(one + j));
            }
        }
    }

    // The change of a term when the label of an effect is decided: the effect minus the part that counted before.
    static LABELWEAVE_INLINE Lanes decided(const Lanes& effect, bool y) {
        const LaneMask positive = effect > 0.0;
        return y ? select(positive, broadcast(0.0), effect) : select(positive, -effect, broadcast(0.0));
    }

    LABELWEAVE_KERNEL void decide(std::size_t k, bool y) {
        const double *zero = effects_.of(k, false), *one = effects_.of(k, true);
        for (std::size_t j = k / kLanes * kLanes; j < effects_.stride(); j += kLanes) {
            store(&zero_[j], load(&zero_[j]) + decided(load(zero + j), y));
            store(&one_[j], load(&one_[j]) + decided(load(one + j), y));
        }
    }

    // A bound on the contribution of the labels after k when label k is y.
    LABELWEAVE_KERNEL double later(std::size_t k, bool y) const {
        const double *zero = effects_.of(k, false), *one = effects_.of(k, true);
        const std::size_t begin = k / kLanes * kLanes;
        const auto largest = [&](std::size_t j) {
            const Lanes at_zero = load(&zero_[j]) + decided(load(zero + j), y);
            const Lanes at_one = load(&one_[j]) + decided(load(one + j), y);
            return select(at_one > at_zero, at_one, at_zero);
        };
        double beside[kLanes], sum_beside = 0.0;
        store(beside, largest(begin));
        for (std::size_t i = k + 1 - begin; i < kLanes; ++i) sum_beside += beside[i];
        Lanes rest = broadcast(0.0);
        for (std::size_t j = begin + kLanes; j < effects_.stride(); j += kLanes) rest += largest(j);
        return sum_beside + sum(rest);
    }

    // The sum of a row's numbers over the labels of the path that are positive; they are zero from depth on.
    LABELWEAVE_KERNEL double along_path(const double* numbers, std::size_t depth) const {
        Lanes sums = broadcast(0.0);
        for (std::size_t k = 0; k < depth; k += kLanes) sums += load(numbers + k) * load(&path_[k]);
        return sum(sums);
    }

    // Both continuations of a partial vector, with value 0 first.
    std::array<Partial, 2> extended(const Partial& from) const {
        const std::size_t k = from.depth;
        const double z = open_.score(k) + along_path(open_.coupling(k), k), split = along_path(fitted_.split(k), k);
        const double squares = effects_.own(k) + along_path(fitted_.products(k), k);
        std::array<Partial, 2> next;
        for (const bool y : {false, true}) {
            const double log_prob = bernoulli_log_prob(y, z);
            const double decided = from.decided + log_prob + split + (y ? squares : 0.0);
            const double bound = std::min(from.bound, decided + later(k, y));
            next[y] = {bound, from.log_prob + log_prob, decided, from.depth + 1, 0};
        }
        return next;
    }

    // At a complete path, the known labels that depend on it are computed instead of bounded.
    void record(bool last, double log_prob) {
        const std::size_t n = open_.n_unknown();
        path_[n - 1] = last;
        for (std::size_t j = n; j < open_.n_terms(); ++j)
            log_prob += bernoulli_log_prob(open_.value(j), open_.score(j) + along_path(open_.coupling(j), n));
        if (!wins(log_prob)) return;
        best_ = log_prob;
        best_path_ = path_;
        improved_ = true;
    }

    void push(Partial partial) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(words_.size() / n_words_));
            words_.resize(words_.size() + n_words_);
        }
        partial.slot = free_.back();
        free_.pop_back();
        std::uint64_t* words = words_.data() + partial.slot * n_words_;
        std::fill_n(words, n_words_, 0);
        for (std::size_t k = 0; k < partial.depth; ++k)
            words[k / 64] |= static_cast<std::uint64_t>(path_[k] > 0.0) << k % 64;
        heap_.push_back(partial);
        std::push_heap(heap_.begin(), heap_.end());
    }

    Partial pop() {
        std::pop_heap(heap_.begin(), heap_.end());
        const Partial partial = heap_.back();
        heap_.pop_back();
        const std::uint64_t* words = words_.data() + partial.slot * n_words_;
        for (std::size_t k = 0; k < partial.depth; ++k) path_[k] = static_cast<double>(words[k / 64] >> k % 64 & 1);
        free_.push_back(partial.slot);
        return partial;
    }

    // The same bits as from log_prob.
    double score(std::size_t row, const std::int8_t* labels) {
        coupling_.load(row, z_.data());
        double log_prob = 0.0;
        for (std::size_t p = 0; p < coupling_.length(); ++p) {
            const int y = labels[coupling_.label(p)];
            log_prob += bernoulli_log_prob(y, z_[p]);
            if (y) add_effect(z_.data(), coupling_.effect(p), p + 1, coupling_.length(), z_.data());
        }
        return log_prob;
    }

    const Coupling& coupling_;
    const RelaxedLimits& limits_;
    threads::Interrupt& interrupt_;
    OpenRow open_;
    Relaxation fitted_;
    RelaxedEffects effects_;
    std::size_t n_words_ = 1, nodes_ = 0;
    std::vector<Partial> heap_;
    std::vector<double> zero_, one_, z_, path_, best_path_;
    std::vector<std::uint64_t> words_;
    std::vector<std::uint32_t> free_;
    double best_ = 0.0, upper_bound_ = kInfinity;
    bool improved_ = false;
};

}  // namespace

void relaxed_search(const Chain& chain, const std::int8_t* known, const RelaxedLimits& limits,
                    const RelaxedResults& out, int n_threads, threads::Interrupt& interrupt) {
    const Coupling coupling(chain);
    threads::share_rows(
        chain.n_rows, n_threads, interrupt,
        [&] {
            return [&, search = RelaxedSearch(coupling, limits, interrupt)](std::size_t i) mutable {
                search.run(i, known + i * chain.n_labels, out.labels + i * chain.n_labels);
                out.log_prob[i] = search.log_prob();
                out.upper_bound[i] = search.upper_bound();
            };
        },
        1);
}

}  // namespace labelweave::chain
