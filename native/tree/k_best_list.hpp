// k-best max-product: the label vectors of one row of a forest in decreasing order of probability, one at a time.
//
// Max-sum gives each label, for each value of its parent, a better value and the loss of taking the other one, all
// labels below it chosen at their best. So log P(y) is that of the mode less the losses of the labels that deviate,
// and a vector is its set of deviating labels. A vector is continued only by deviations after its last one in the
// order of the labels: every vector has one origin. Continuations of a vector wait in the order of their losses,
// only the first of them in the heap, so that a step costs two looks at the labels and two heap entries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tree/factors.hpp"

namespace labelweave::tree {

// The part that the lists of all rows of a forest share; labels are by position in the order.
struct KBestPlan {
    explicit KBestPlan(const Tree& tree)
        : label(tree.order, tree.order + tree.n_labels), parent(tree.n_labels), n_labels(tree.n_labels) {
        std::vector<std::size_t> position(n_labels);
        for (std::size_t t = 0; t < n_labels; ++t) position[label[t]] = t;
        for (std::size_t t = 0; t < n_labels; ++t) {
            const std::int64_t above = tree.parents[label[t]];
            parent[t] = above < 0 ? n_labels : position[above];
        }
    }

    std::vector<std::int64_t> label;
    std::vector<std::size_t> parent;  // a root's is n_labels, whose value is always 0
    std::size_t n_labels;
};

class KBestList {
  public:
    explicit KBestList(const KBestPlan& plan)
        : plan_(plan), below_(2 * plan.n_labels + 2), loss_(2 * plan.n_labels), better_(2 * plan.n_labels) {}

    // Begin the list of a row with these logarithms of its conditionals.
    void start(const Factors& logs) {
        solve(logs);
        heap_.clear();
        vectors_.clear();
        cost_.clear();
        last_.clear();
        add(kNobody, kNobody, 0.0);
    }

    // Vectors listed so far; the last one is the current. Starts at one, the mode.
    std::size_t depth() const { return cost_.size(); }
    // Log-probability of the current vector below that of the mode.
    double cost() const { return cost_.back(); }

    // Go on to the next vector; false if all others are impossible.
    bool advance() {
        if (heap_.empty()) return false;
        std::pop_heap(heap_.begin(), heap_.end());
        const Candidate next = heap_.back();
        heap_.pop_back();
        offer(next.from, next.loss, next.position);
        add(next.from, next.position, next.cost);
        return true;
    }

    // The current vector by label.
    void write(std::int8_t* labels) const {
        const std::int8_t* y = vector(depth() - 1);
        for (std::size_t t = 0; t < plan_.n_labels; ++t) labels[plan_.label[t]] = y[t];
    }

  private:
    static constexpr std::uint32_t kNobody = static_cast<std::uint32_t>(-1);

    // The vector `from` with a deviation at `position`.
    struct Candidate {
        double cost, loss;
        std::uint32_t from, position;
        // A heap has its largest on top: the cheapest here, and among equals the earliest.
        bool operator<(const Candidate& other) const {
            if (cost != other.cost) return cost > other.cost;
            return from != other.from ? from > other.from : position > other.position;
        }
    };

    std::int8_t* vector(std::size_t index) { return vectors_.data() + index * (plan_.n_labels + 1); }
    const std::int8_t* vector(std::size_t index) const { return vectors_.data() + index * (plan_.n_labels + 1); }

    void solve(const Factors& logs) {
        std::fill(below_.begin(), below_.end(), 0.0);
        for (std::size_t t = plan_.n_labels; t-- > 0;) {
            for (std::size_t a = 0; a < 2; ++a) {
                const std::size_t at = 2 * static_cast<std::size_t>(plan_.label[t]) + a;
                const double zero = logs.zero[at] + below_[2 * t], one = logs.one[at] + below_[2 * t + 1];
                better_[2 * t + a] = one > zero;
                loss_[2 * t + a] = std::max(zero, one) - std::min(zero, one);
                below_[2 * plan_.parent[t] + a] += std::max(zero, one);
            }
        }
    }

    void add(std::uint32_t from, std::uint32_t position, double cost) {
        const std::size_t n = plan_.n_labels, index = depth();
        const std::size_t first = from == kNobody ? 0 : position;
        vectors_.resize(vectors_.size() + n + 1);
        std::int8_t* y = vector(index);
        if (from != kNobody) {
            std::copy_n(vector(from), position, y);
            y[position] = !vector(from)[position];
        }
        y[n] = 0;
        for (std::size_t t = first + (from != kNobody); t < n; ++t) y[t] = better_[2 * t + y[plan_.parent[t]]];
        cost_.push_back(cost);
        last_.push_back(static_cast<std::uint32_t>(first + (from != kNobody)));
        offer(static_cast<std::uint32_t>(index), -1.0, 0);
    }

    // Put the cheapest deviation of a vector that comes after (loss, position) into the heap.
    void offer(std::uint32_t from, double loss, std::uint32_t position) {
        const std::int8_t* y = vector(from);
        double least = std::numeric_limits<double>::infinity();
        std::size_t where = plan_.n_labels;
        for (std::size_t t = last_[from]; t < plan_.n_labels; ++t) {
            const double here = loss_[2 * t + y[plan_.parent[t]]];
            // No branches: which label is best so far cannot be foreseen.
            const bool better = (here < least) & ((here > loss) | ((here == loss) & (t > position)));
            least = better ? here : least;
            where = better ? t : where;
        }
        if (where == plan_.n_labels) return;
        heap_.push_back({cost_[from] + least, least, from, static_cast<std::uint32_t>(where)});
        std::push_heap(heap_.begin(), heap_.end());
    }

    const KBestPlan& plan_;
    std::vector<double> below_, loss_;  // [t, a]: of the label at t when its parent is at a
    std::vector<std::int8_t> better_;
    std::vector<std::int8_t> vectors_;  // the listed vectors, each with a zero for the parent of roots
    std::vector<double> cost_;
    std::vector<std::uint32_t> last_;  // the first position that may still deviate
    std::vector<Candidate> heap_;
};

}  // namespace labelweave::tree
