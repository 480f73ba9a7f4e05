#include "tree/annealing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "random/philox.hpp"
#include "threads/share_rows.hpp"
#include "tree/factors.hpp"

namespace labelweave::tree {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// As in the Gibbs sampler: a smaller rise of the log-probability may be rounding.
constexpr double kTie = 1e-9;
// Steps between two looks for Ctrl-C.
constexpr std::size_t kPatience = 1024;

// A sum of logarithms that counts infinite terms separately, so that a factor of zero can be removed again.
struct LogSum {
    double finite = 0.0;
    int impossible = 0;
    void add(double term) { term == -kInfinity ? void(++impossible) : void(finite += term); }
    void remove(double term) { term == -kInfinity ? void(--impossible) : void(finite -= term); }
    double value() const { return impossible ? -kInfinity : finite; }
};

// One forest of the mixture in the present state of a row.
class Component {
  public:
    explicit Component(const Tree& tree) : tree_(tree), logs_(tree.n_labels), children_(tree.n_labels) {
        for (std::size_t i = 0; i < tree.n_labels; ++i)
            if (tree.parents[i] >= 0) children_[tree.parents[i]].push_back(i);
    }

    void load(std::size_t row, const std::int8_t* y) {
        logs_.load_logs(tree_, row);
        total_ = LogSum();
        for (std::size_t i = 0; i < tree_.n_labels; ++i) total_.add(factor(y, i));
    }

    // The log-probability after label i flips in y: only its own factor and those of its children change.
    LogSum flipped(std::int8_t* y, std::size_t i) const {
        LogSum total = total_;
        visit(y, i, [&](double term) { total.remove(term); });
        y[i] ^= 1;
        visit(y, i, [&](double term) { total.add(term); });
        y[i] ^= 1;
        return total;
    }

    const LogSum& total() const { return total_; }
    void accept(const LogSum& total) { total_ = total; }

  private:
    double factor(const std::int8_t* y, std::size_t i) const {
        const std::size_t at = factor_at(tree_.parents, y, i);
        return y[i] ? logs_.one[at] : logs_.zero[at];
    }
    template <class Use>
    void visit(const std::int8_t* y, std::size_t i, Use&& use) const {
        use(factor(y, i));
        for (const std::size_t child : children_[i]) use(factor(y, child));
    }

    const Tree& tree_;
    Factors logs_;
    std::vector<std::vector<std::size_t>> children_;
    LogSum total_;
};

class AnnealingRow {
  public:
    AnnealingRow(const Mixture& mixture, const AnnealingRun& run, threads::Interrupt& interrupt)
        : mixture_(mixture), run_(run), interrupt_(interrupt), proposed_(mixture.trees.size()) {
        for (const Tree& tree : mixture.trees) components_.emplace_back(tree);
    }

    void run(std::size_t row, std::int8_t* best) {
        const std::size_t n_labels = mixture_.n_labels();
        open_.clear();
        for (std::size_t i = 0; i < n_labels; ++i)
            if (run_.known[row * n_labels + i] < 0) open_.push_back(i);
        if (open_.empty()) return;
        y_.assign(best, best + n_labels);
        log_weights_ = mixture_.log_weights + row * components_.size();
        for (std::size_t k = 0; k < components_.size(); ++k) {
            components_[k].load(row, best);
            proposed_[k] = components_[k].total();
        }
        walk(static_cast<std::uint64_t>(run_.rows[row]), best);
    }

  private:
    void walk(std::uint64_t id, std::int8_t* best) {
        double present = log_prob(), highest = present;
        for (std::size_t step = 0; step < run_.n_steps; ++step) {
            if (step % kPatience == kPatience - 1) interrupt_.check();
            const auto draw = static_cast<std::uint32_t>(step);
            const auto pick = static_cast<std::size_t>(random::uniform(run_.seed, id, draw, 0) * open_.size());
            const std::size_t i = open_[std::min(pick, open_.size() - 1)];
            for (std::size_t k = 0; k < components_.size(); ++k) proposed_[k] = components_[k].flipped(y_.data(), i);
            const double next = log_prob();
            const double limit = run_.temperatures[step] * std::log(random::uniform(run_.seed, id, draw, 1));
            if (!(next >= present || next - present > limit)) continue;
            y_[i] ^= 1;
            present = next;
            for (std::size_t k = 0; k < components_.size(); ++k) components_[k].accept(proposed_[k]);
            if (!(present > highest + kTie)) continue;
            highest = present;
            std::copy(y_.begin(), y_.end(), best);
        }
    }

    // Of the mixture, in the state whose sums are in proposed_.
    double log_prob() const {
        double high = -kInfinity, total = 0.0;
        for (std::size_t k = 0; k < proposed_.size(); ++k)
            high = std::max(high, log_weights_[k] + proposed_[k].value());
        if (high == -kInfinity) return high;
        for (std::size_t k = 0; k < proposed_.size(); ++k)
            total += std::exp(log_weights_[k] + proposed_[k].value() - high);
        return high + std::log(total);
    }

    const Mixture& mixture_;
    const AnnealingRun& run_;
    threads::Interrupt& interrupt_;
    std::vector<Component> components_;
    std::vector<LogSum> proposed_;
    std::vector<std::size_t> open_;
    std::vector<std::int8_t> y_;
    const double* log_weights_ = nullptr;
};

}  // namespace

void anneal(const Mixture& mixture, const AnnealingRun& run, std::int8_t* labels, int n_threads,
            threads::Interrupt& interrupt) {
    threads::share_rows(mixture.n_rows(), n_threads, interrupt, [&] {
        return [&, annealing = std::make_unique<AnnealingRow>(mixture, run, interrupt)](std::size_t row) {
            annealing->run(row, labels + row * mixture.n_labels());
        };
    });
}

}  // namespace labelweave::tree
