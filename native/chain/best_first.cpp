#include "chain/best_first.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chain/coupling.hpp"
#include "chain/interval_bound.hpp"
#include "simd/scalar_math.hpp"
#include "threads/share_rows.hpp"

namespace labelweave::chain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A bound is summed up block by block and given up as soon as it cannot win.
constexpr std::size_t kBoundBlock = 32;

// Bounds and log-probabilities are the same sums in another order; smaller differences are rounding.
double rounding(double log_prob) { return 1e-12 * (1.0 + std::fabs(log_prob)); }

struct OpenPrefix {
    double bound, log_prob;
    std::uint32_t depth;
    std::uint32_t slot;
    // Among equals the deeper prefix goes first: it is nearer to an answer.
    bool operator<(const OpenPrefix& other) const {
        return bound < other.bound || (bound == other.bound && depth < other.depth);
    }
};

// Prefixes that wait, best bound on top, with their labels as bits.
class Frontier {
  public:
    Frontier(std::size_t length, std::size_t max_open) : n_words_((length + 63) / 64), max_open_(max_open) {}

    void clear() {
        heap_.clear();
        stack_.clear();
        free_.clear();
        bits_.clear();
    }
    bool empty() const { return heap_.empty() && stack_.empty(); }

    void push(const std::int8_t* path, std::size_t depth, double log_prob, double bound) {
        const OpenPrefix open{bound, log_prob, static_cast<std::uint32_t>(depth), take_slot()};
        std::uint64_t* words = bits_.data() + open.slot * n_words_;
        std::fill_n(words, n_words_, 0);
        for (std::size_t p = 0; p < depth; ++p) words[p / 64] |= static_cast<std::uint64_t>(path[p]) << p % 64;
        if (heap_.size() < max_open_) {
            heap_.push_back(open);
            std::push_heap(heap_.begin(), heap_.end());
        } else {
            stack_.push_back(open);  // memory is full: depth first from here on
        }
    }

    OpenPrefix pop(std::int8_t* path) {
        OpenPrefix open;
        if (!stack_.empty()) {
            open = stack_.back();
            stack_.pop_back();
        } else {
            std::pop_heap(heap_.begin(), heap_.end());
            open = heap_.back();
            heap_.pop_back();
        }
        const std::uint64_t* words = bits_.data() + open.slot * n_words_;
        for (std::size_t p = 0; p < open.depth; ++p) path[p] = words[p / 64] >> p % 64 & 1;
        free_.push_back(open.slot);
        return open;
    }

    double best_bound() const {
        double best = heap_.empty() ? -kInfinity : heap_.front().bound;
        for (const OpenPrefix& open : stack_) best = std::max(best, open.bound);
        return best;
    }

  private:
    std::uint32_t take_slot() {
        if (free_.empty()) {
            const auto slot = static_cast<std::uint32_t>(bits_.size() / n_words_);
            bits_.resize(bits_.size() + n_words_);
            return slot;
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        return slot;
    }

    std::size_t n_words_, max_open_;
    std::vector<OpenPrefix> heap_, stack_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint64_t> bits_;
};

// The search for one row after the other; one object for each thread.
class BestFirstSearch {
  public:
    BestFirstSearch(const Coupling& coupling, const ScoreIntervals& intervals, const SearchLimits& limits,
                    threads::Interrupt& interrupt)
        : coupling_(coupling), intervals_(intervals), limits_(limits), interrupt_(interrupt),
          evidence_(coupling.stride()), frontier_(coupling.length(), limits.max_open), scores_(coupling.stride()),
          z_(coupling.stride()), tails_(coupling.stride()), most_(coupling.stride()), rest_(coupling.stride() + 1),
          trial_(coupling.stride()), path_(coupling.length()), best_path_(coupling.length()),
          limited_(limits.deadline != std::chrono::steady_clock::time_point::max()) {}

    void run(std::size_t row, double floor, double log_mass, std::int8_t* labels) {
        evidence_.load(coupling_, labels);
        coupling_.load(row, scores_.data());
        frontier_.clear();
        nodes_ = 0;
        floor_ = floor;
        skipped_ = -kInfinity;
        follow_greedily();
        // A vector with more than half of the mass is the mode, so no search is needed.
        if (!prune(remaining_mass(log_mass))) search();
        upper_bound_ = std::max(best_, std::min(std::max(skipped_, frontier_.best_bound()), remaining_mass(log_mass)));
        for (std::size_t p = 0; p < coupling_.length(); ++p) labels[coupling_.label(p)] = best_path_[p];
        if (improved_) rescore();
        if (upper_bound_ <= best_ + rounding(best_)) upper_bound_ = best_;
    }

    double log_prob() const { return best_; }
    double upper_bound() const { return upper_bound_; }
    std::int64_t nodes() const { return static_cast<std::int64_t>(nodes_); }

  private:
    void search() {
        frontier_.push(path_.data(), 0, 0.0, 0.0);
        for (std::size_t dives = 0; !frontier_.empty() && nodes_ < limits_.budget; ++dives) {
            if (dives % 64 == 63) interrupt_.check();
            if (dives > 0 && limited_ && std::chrono::steady_clock::now() > limits_.deadline) return;
            const OpenPrefix open = frontier_.pop(path_.data());
            if (!prune(open.bound)) dive(open);
        }
    }

    // The first answer is the vector of greedy inference, summed in the same order.
    void follow_greedily() {
        std::copy(scores_.begin(), scores_.end(), z_.begin());
        best_ = 0.0;
        improved_ = false;
        for (std::size_t p = 0; p < coupling_.length(); ++p) {
            const int y = evidence_.value[p] >= 0 ? evidence_.value[p] : z_[p] > 0.0;
            best_ += bernoulli_log_prob(y, z_[p]);
            best_path_[p] = static_cast<std::int8_t>(y);
            if (y) add_effect(z_.data(), coupling_.effect(p), p + 1, coupling_.length(), z_.data());
        }
    }

    // A bound on any other vector: all vectors together have the mass of the evidence.
    double remaining_mass(double log_mass) const {
        return best_ < log_mass ? log_mass + std::log1p(-std::exp(best_ - log_mass)) : -kInfinity;
    }

    bool prune(double bound) {
        if (bound > std::max(best_ + std::max(limits_.epsilon, rounding(best_)), floor_)) return false;
        skipped_ = std::max(skipped_, bound);
        return true;
    }

    void dive(const OpenPrefix& open) {
        restore(open.depth);
        refine(open.depth);
        double log_prob = open.log_prob;
        for (std::size_t p = open.depth; p < coupling_.length(); ++p) {
            if (prune(log_prob + rest_[p])) return;
            const bool likelier = z_[p] > 0.0;
            const double likely = log_prob - tails_[p], unlikely = likely - std::fabs(z_[p]);
            const std::int8_t given = evidence_.value[p];
            if (given < 0) {
                if (nodes_ == limits_.budget) {
                    skipped_ = std::max(skipped_, log_prob + rest_[p]);
                    return;
                }
                ++nodes_;
                offer(p, !likelier, unlikely);
            }
            const bool y = given < 0 ? likelier : given != 0;
            log_prob = y == likelier ? likely : unlikely;
            path_[p] = y;
            if (y) {
                add_effect(z_.data(), coupling_.effect(p), p + 1, coupling_.length(), z_.data());
                log_tails(z_.data(), p + 1, coupling_.length(), tails_.data());
            }
        }
        record(log_prob);
    }

    // Scores after the first `depth` labels of the path, added up in the order of the chain.
    void restore(std::size_t depth) {
        std::copy(scores_.begin(), scores_.end(), z_.begin());
        for (std::size_t p = 0; p < depth; ++p)
            if (path_[p]) add_effect(z_.data(), coupling_.effect(p), p + 1, coupling_.length(), z_.data());
        log_tails(z_.data(), depth, coupling_.length(), tails_.data());
    }

    // rest_[q] bounds the contribution of the labels from q >= p on, given the labels before p. It stays an upper bound
    // further down, and is renewed there only when it fails to settle a branch.
    void refine(std::size_t p) {
        interval_bound(z_.data(), no_effect(), intervals_.rise(p), intervals_.fall(p), evidence_, p, coupling_.length(),
                       most_.data());
        rest_[coupling_.length()] = 0.0;
        for (std::size_t q = coupling_.length(); q-- > p;) rest_[q] = rest_[q + 1] + most_[q];
        refined_ = p;
    }

    // Leave the branch that gives label p the value y open, unless its bound excludes it.
    void offer(std::size_t p, bool y, double log_prob) {
        if (prune(log_prob + rest_[p + 1])) return;
        if (refined_ < p) {
            refine(p);
            if (prune(log_prob + rest_[p + 1])) return;
        }
        const double* effect = y ? coupling_.effect(p) : no_effect();
        double bound = log_prob + rest_[p + 1];
        for (std::size_t q = p + 1; q < coupling_.length(); q += kBoundBlock) {
            const std::size_t end = std::min(q + kBoundBlock, coupling_.length());
            interval_bound(z_.data(), effect, intervals_.rise(p + 1), intervals_.fall(p + 1), evidence_, q, end,
                           trial_.data());
            for (std::size_t k = q; k < end; ++k) bound += trial_[k] - most_[k];
            if (prune(bound)) return;
        }
        path_[p] = y;
        frontier_.push(path_.data(), p + 1, log_prob, bound);
    }

    void record(double log_prob) {
        if (!(log_prob > best_ + rounding(best_))) return;
        best_ = log_prob;
        best_path_ = path_;
        improved_ = true;
    }

    // The log-probability of the answer has the same bits as from log_prob.
    void rescore() {
        std::copy(scores_.begin(), scores_.end(), z_.begin());
        best_ = 0.0;
        for (std::size_t p = 0; p < coupling_.length(); ++p) {
            best_ += bernoulli_log_prob(best_path_[p], z_[p]);
            if (best_path_[p]) add_effect(z_.data(), coupling_.effect(p), p + 1, coupling_.length(), z_.data());
        }
    }

    const double* no_effect() const { return coupling_.effect(coupling_.length()); }

    const Coupling& coupling_;
    const ScoreIntervals& intervals_;
    const SearchLimits& limits_;
    threads::Interrupt& interrupt_;
    Evidence evidence_;
    Frontier frontier_;
    std::vector<double> scores_, z_, tails_, most_, rest_, trial_;
    std::vector<std::int8_t> path_, best_path_;
    std::size_t refined_ = 0;
    std::uint64_t nodes_ = 0;
    double floor_ = -kInfinity, best_ = 0.0, skipped_ = -kInfinity, upper_bound_ = 0.0;
    bool improved_ = false, limited_;
};

}  // namespace

void best_first(const Chain& chain, const SearchLimits& limits, const double* floor, const double* log_mass,
                const SearchResults& out, int n_threads, threads::Interrupt& interrupt) {
    const Coupling coupling(chain);
    const ScoreIntervals intervals(coupling);
    threads::share_rows(chain.n_rows, n_threads, interrupt, [&] {
        return [&, search = BestFirstSearch(coupling, intervals, limits, interrupt)](std::size_t i) mutable {
            search.run(i, floor[i], log_mass[i], out.labels + i * chain.n_labels);
            out.log_prob[i] = search.log_prob();
            out.upper_bound[i] = search.upper_bound();
            out.nodes[i] = search.nodes();
        };
    });
}

}  // namespace labelweave::chain
