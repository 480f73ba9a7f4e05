#include "tree/threshold.hpp"

#include <cmath>
#include <cstring>
#include <deque>
#include <numeric>

#include "threads/share_rows.hpp"
#include "tree/k_best_list.hpp"

namespace labelweave::tree {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Steps between two looks for Ctrl-C.
constexpr std::size_t kPatience = 1024;
// The probabilities of the vectors seen sum to their mass up to this.
constexpr double kMassRounding = 1e-12;

// Bounds and log-probabilities are the same sums in another order; smaller differences are rounding.
double rounding(double log_prob) { return 1e-12 * (1.0 + std::fabs(log_prob)); }

// The different vectors of one row, found again by a hash of their labels.
class SeenVectors {
  public:
    explicit SeenVectors(std::size_t n_labels) : n_labels_(n_labels) { clear(); }

    void clear() {
        labels_.clear();
        table_.assign(64, kEmpty);
        count_ = 0;
    }

    // Whether the vector was new; it is then the last one.
    bool insert(const std::int8_t* vector) {
        std::size_t at = find(vector);
        if (table_[at] != kEmpty) return false;
        labels_.insert(labels_.end(), vector, vector + n_labels_);
        table_[at] = count_++;
        if (2 * count_ > table_.size()) grow();
        return true;
    }

    const std::vector<std::int8_t>& labels() const { return labels_; }

  private:
    static constexpr std::uint32_t kEmpty = static_cast<std::uint32_t>(-1);

    std::size_t find(const std::int8_t* vector) const {
        std::uint64_t hash = 0x9E3779B97F4A7C15u;
        for (std::size_t i = 0; i < n_labels_; ++i)
            hash = (hash ^ static_cast<std::uint64_t>(vector[i])) * 0x100000001B3u;
        hash ^= hash >> 29;
        const std::size_t mask = table_.size() - 1;
        std::size_t at = hash & mask;
        while (table_[at] != kEmpty && std::memcmp(labels_.data() + table_[at] * n_labels_, vector, n_labels_) != 0)
            at = (at + 1) & mask;
        return at;
    }

    void grow() {
        table_.assign(2 * table_.size(), kEmpty);
        for (std::uint32_t k = 0; k < count_; ++k) table_[find(labels_.data() + k * n_labels_)] = k;
    }

    std::size_t n_labels_;
    std::vector<std::int8_t> labels_;
    std::vector<std::uint32_t> table_;
    std::uint32_t count_ = 0;
};

// The list of one forest within a mixture.
struct Walk {
    explicit Walk(const Tree& forest)
        : tree(forest), plan(forest), logs(forest.n_labels), list(plan), parent(forest.n_labels),
          factor(4 * forest.n_labels) {
        for (std::size_t i = 0; i < forest.n_labels; ++i)
            parent[i] = forest.parents[i] < 0 ? forest.n_labels : static_cast<std::size_t>(forest.parents[i]);
    }
    Walk(const Walk&) = delete;

    void load(std::size_t row) {
        logs.load_logs(tree, row);
        for (std::size_t k = 0; k < 2 * tree.n_labels; ++k) {
            factor[2 * k] = logs.zero[k];
            factor[2 * k + 1] = logs.one[k];
        }
    }

    // log P of a vector that ends in a zero for the parent of roots. Four sums, for one would wait for itself.
    double log_prob(const std::int8_t* y) const {
        const std::size_t n = tree.n_labels;
        double total[4] = {0.0, 0.0, 0.0, 0.0};
        std::size_t i = 0;
        for (; i + 4 <= n; i += 4)
            for (std::size_t s = 0; s < 4; ++s) total[s] += factor[4 * (i + s) + 2 * y[parent[i + s]] + y[i + s]];
        for (; i < n; ++i) total[0] += factor[4 * i + 2 * y[parent[i]] + y[i]];
        return (total[0] + total[1]) + (total[2] + total[3]);
    }

    const Tree& tree;
    KBestPlan plan;
    Factors logs;
    KBestList list;
    std::vector<std::size_t> parent;
    std::vector<double> factor;  // [i, y_parent, y_i]
    double best = 0.0;           // log(weight) + log-probability of the mode of this forest
    double rest = 0.0;           // log(weight_k P_k) of what the list has not shown yet, at most
};

// The search for one row after the other; one object for each thread.
class ThresholdRow {
  public:
    ThresholdRow(const Mixture& mixture, std::size_t depth, threads::Interrupt& interrupt)
        : mixture_(mixture), depth_(depth), interrupt_(interrupt), seen_(mixture.n_labels()),
          vector_(mixture.n_labels() + 1), terms_(mixture.trees.size()), open_(mixture.trees.size()) {
        for (const Tree& tree : mixture.trees) walks_.emplace_back(tree);
    }

    void run(std::size_t row, const RankedVectors& out) {
        n_best_ = out.n_best;
        start(row);
        for (std::size_t step = 1; !settled(); ++step) {
            if (step % kPatience == 0) interrupt_.check();
            const std::size_t next = most_promising();
            if (next == walks_.size()) break;
            advance(next);
        }
        ranking_.write(seen_.labels(), log_prob_, mixture_.n_labels(), out, row);
        if (upper_bound_ <= worst() + rounding(worst())) upper_bound_ = worst();
        upper_bound_ = std::max(upper_bound_, worst());
    }

    double upper_bound() const { return upper_bound_; }
    std::int64_t listed() const { return listed_; }

  private:
    void start(std::size_t row) {
        seen_.clear();
        log_prob_.clear();
        best_.clear();
        mass_ = 0.0;
        listed_ = 0;
        log_weights_ = mixture_.log_weights + row * walks_.size();
        for (Walk& walk : walks_) walk.load(row);
        for (std::size_t k = 0; k < walks_.size(); ++k) {
            Walk& walk = walks_[k];
            walk.best = walk.rest = -kInfinity;
            if (log_weights_[k] == -kInfinity) continue;
            walk.list.start(walk.logs);
            walk.list.write(vector_.data());
            walk.best = walk.rest = log_weights_[k] + walk.log_prob(vector_.data());
            look(walk);
        }
        highest_ = -kInfinity;
        for (const Walk& walk : walks_) highest_ = std::max(highest_, walk.best);
        for (std::size_t k = 0; k < walks_.size(); ++k) open_[k] = std::exp(walks_[k].rest - highest_);
    }

    void advance(std::size_t k) {
        Walk& walk = walks_[k];
        if (walk.list.advance()) {
            look(walk);
            walk.rest = walk.best - walk.list.cost();
        } else {
            walk.rest = -kInfinity;
        }
        open_[k] = std::exp(walk.rest - highest_);
    }

    // Score the vector a list has come to, unless another list brought it before.
    void look(Walk& walk) {
        ++listed_;
        walk.list.write(vector_.data());
        if (!seen_.insert(vector_.data())) return;
        for (std::size_t k = 0; k < walks_.size(); ++k)
            terms_[k] =
                log_weights_[k] == -kInfinity ? -kInfinity : log_weights_[k] + walks_[k].log_prob(vector_.data());
        const double log_prob = log_sum();
        log_prob_.push_back(log_prob);
        mass_ += std::exp(log_prob);
        keep(log_prob);
    }

    double log_sum() const {
        const double high = *std::max_element(terms_.begin(), terms_.end());
        if (high == -kInfinity) return high;
        double total = 0.0;
        for (const double term : terms_) total += std::exp(term - high);
        return high + std::log(total);
    }

    // The n_best highest log-probabilities seen, the lowest of them on top.
    void keep(double log_prob) {
        best_.push_back(log_prob);
        std::push_heap(best_.begin(), best_.end(), std::greater<>());
        if (best_.size() <= n_best_) return;
        std::pop_heap(best_.begin(), best_.end(), std::greater<>());
        best_.pop_back();
    }
    double worst() const { return best_.size() < n_best_ ? -kInfinity : best_.front(); }

    bool settled() {
        const double unseen = highest_ + std::log(std::accumulate(open_.begin(), open_.end(), 0.0));
        upper_bound_ = std::min(unseen, std::log(std::max(0.0, 1.0 - mass_) + kMassRounding));
        return worst() > -kInfinity && upper_bound_ <= worst() + rounding(worst());
    }

    // The list with the largest part of the bound; the number of lists if none may continue.
    std::size_t most_promising() const {
        std::size_t found = walks_.size();
        double most = -kInfinity;
        for (std::size_t k = 0; k < walks_.size(); ++k) {
            if (!(walks_[k].rest > most) || walks_[k].list.depth() >= depth_) continue;
            most = walks_[k].rest;
            found = k;
        }
        return found;
    }

    const Mixture& mixture_;
    std::size_t depth_;
    threads::Interrupt& interrupt_;
    std::deque<Walk> walks_;  // which refer to their own plans and must stay where they are
    SeenVectors seen_;
    Ranking ranking_;
    std::vector<std::int8_t> vector_;  // with a zero for the parent of roots
    std::vector<double> terms_, log_prob_, best_;
    std::vector<double> open_;  // exp(rest - highest_) of every list
    const double* log_weights_ = nullptr;
    std::size_t n_best_ = 1;
    double highest_ = 0.0, mass_ = 0.0, upper_bound_ = 0.0;
    std::int64_t listed_ = 0;
};

}  // namespace

void threshold(const Mixture& mixture, std::size_t depth, const RankedVectors& out, double* upper_bound,
               std::int64_t* listed, int n_threads, threads::Interrupt& interrupt) {
    threads::share_rows(mixture.n_rows(), n_threads, interrupt, [&] {
        return [&, search = std::make_unique<ThresholdRow>(mixture, depth, interrupt)](std::size_t row) {
            search->run(row, out);
            upper_bound[row] = search->upper_bound();
            listed[row] = search->listed();
        };
    });
}

}  // namespace labelweave::tree
