// The distribution of the number of positive labels, as polynomials whose coefficient s is the probability of s of
// them.
//
// Every term is positive and nothing is divided or subtracted, so small probabilities keep their digits.
#include <algorithm>
#include <utility>
#include <vector>

#include "simd/lanes.hpp"
#include "threads/parallel.hpp"
#include "tree/factors.hpp"
#include "tree/tree.hpp"

namespace labelweave::tree {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// A label with everything below it, or two such parts under the same parent.
struct Part {
    std::size_t size;         // labels in it
    std::size_t label;        // kNone for a pair
    std::size_t left, right;  // parts it is made of; a label has at most `left`, all its children in one
    std::size_t offset;       // of its two polynomials, one for each value of the parent
};

// A forest as parts, each after those it is made of. Siblings are joined in balanced pairs, so that what lies
// outside one of many siblings is found in a logarithmic number of products.
class Plan {
  public:
    explicit Plan(const Tree& tree) {
        std::vector<std::vector<std::size_t>> children(tree.n_labels + 1);
        for (std::size_t t = tree.n_labels; t-- > 0;) {
            const auto i = static_cast<std::size_t>(tree.order[t]);
            const std::size_t below = join(children[i]);
            const std::size_t size = 1 + (below == kNone ? 0 : parts_[below].size);
            const std::size_t parent = tree.parents[i] < 0 ? tree.n_labels : tree.parents[i];
            children[parent].push_back(add({size, i, below, kNone, 0}));
        }
        join(children[tree.n_labels]);
    }

    const std::vector<Part>& parts() const { return parts_; }
    std::size_t top() const { return parts_.size() - 1; }
    std::size_t cells() const { return cells_; }

  private:
    std::size_t add(Part part) {
        part.offset = cells_;
        cells_ += 2 * (part.size + 1);
        parts_.push_back(part);
        return parts_.size() - 1;
    }

    std::size_t join(std::vector<std::size_t> list) {
        if (list.empty()) return kNone;
        while (list.size() > 1) {
            std::vector<std::size_t> pairs;
            for (std::size_t k = 0; k + 1 < list.size(); k += 2)
                pairs.push_back(add({parts_[list[k]].size + parts_[list[k + 1]].size, kNone, list[k], list[k + 1], 0}));
            if (list.size() % 2) pairs.push_back(list.back());
            list = std::move(pairs);
        }
        return list[0];
    }

    std::vector<Part> parts_;
    std::size_t cells_ = 0;
};

// The product of two polynomials of n and m coefficients.
LABELWEAVE_KERNEL void multiply(const Lanes* x, std::size_t n, const Lanes* y, std::size_t m, Lanes* out) {
    for (std::size_t s = 0; s + 1 < n + m; ++s) {
        Lanes total{};
        const std::size_t first = s + 1 > m ? s + 1 - m : 0, last = std::min(s + 1, n);
        for (std::size_t k = first; k < last; ++k) total += x[k] * y[s - k];
        out[s] = total;
    }
}

// x p + y q shifted by one, for a label that is 0 with weight p and 1 with weight q.
LABELWEAVE_KERNEL void step_up(const Lanes* x, const Lanes& p, const Lanes* y, const Lanes& q, std::size_t n,
                               Lanes* out) {
    out[0] = x[0] * p;
    for (std::size_t s = 1; s < n; ++s) out[s] = x[s] * p + y[s - 1] * q;
    out[n] = y[n - 1] * q;
}

// x p + y q.
LABELWEAVE_KERNEL void combine(const Lanes* x, const Lanes& p, const Lanes* y, const Lanes& q, std::size_t n,
                               Lanes* out) {
    for (std::size_t s = 0; s < n; ++s) out[s] = x[s] * p + y[s] * q;
}

// Eight rows.
class CountBlock {
  public:
    CountBlock(const Tree& tree, const Plan& plan)
        : tree_(tree), plan_(plan), n_labels_(tree.n_labels), factors_(n_labels_), inside_(plan.cells()), unit_(1) {
        unit_[0] = broadcast(1.0);
    }

    void load(std::size_t first, std::size_t size) {
        factors_.load(tree_, first, size);
        for (const Part& part : plan_.parts())
            for (int a = 0; a < 2; ++a) fill(part, a);
    }

    const Lanes* total() const { return inside(plan_.parts()[plan_.top()], 0); }

    // Call visit(label, coefficients) with P(y_label = 1, |y| = s) for every label.
    template <class Visit>
    void by_label(Visit&& visit) {
        std::vector<Open> open;
        open.push_back({plan_.top(), LaneArray(1), LaneArray(1)});
        open.back().outside[0][0] = broadcast(1.0);
        LaneArray answer(n_labels_ + 1);
        while (!open.empty()) {
            const Open at = std::move(open.back());
            open.pop_back();
            const Part& part = plan_.parts()[at.part];
            if (part.label == kNone)
                split(part, at, open);
            else
                descend(part, at, open, answer, visit);
        }
    }

  private:
    // A part still to visit, and for each value of its parent the polynomial of all labels outside the part.
    struct Open {
        Open(std::size_t which, LaneArray zero, LaneArray one)
            : part(which), outside{std::move(zero), std::move(one)} {}
        std::size_t part;
        LaneArray outside[2];
    };

    Lanes* inside(const Part& part, int a) { return inside_.data() + part.offset + a * (part.size + 1); }
    const Lanes* inside(const Part& part, int a) const { return inside_.data() + part.offset + a * (part.size + 1); }
    // The polynomial of everything below a label that has the value b.
    const Lanes* below(const Part& part, int b) const {
        return part.left == kNone ? unit_.data() : inside(plan_.parts()[part.left], b);
    }

    void fill(const Part& part, int a) {
        if (part.label == kNone) {
            const Part &left = plan_.parts()[part.left], &right = plan_.parts()[part.right];
            multiply(inside(left, a), left.size + 1, inside(right, a), right.size + 1, inside(part, a));
        } else {
            const std::size_t k = 2 * part.label + a;
            step_up(below(part, 0), factors_.zero[k], below(part, 1), factors_.one[k], part.size, inside(part, a));
        }
    }

    void split(const Part& part, const Open& at, std::vector<Open>& open) {
        for (const auto& [mine, other] : {std::pair{part.left, part.right}, std::pair{part.right, part.left}}) {
            const std::size_t size = plan_.parts()[mine].size;
            open.push_back({mine, LaneArray(n_labels_ - size + 1), LaneArray(n_labels_ - size + 1)});
            for (int a = 0; a < 2; ++a)
                multiply(at.outside[a].data(), n_labels_ - part.size + 1, inside(plan_.parts()[other], a),
                         part.size - size + 1, open.back().outside[a].data());
        }
    }

    template <class Visit>
    void descend(const Part& part, const Open& at, std::vector<Open>& open, LaneArray& answer, Visit&& visit) {
        const std::size_t n = n_labels_ - part.size + 1, k = 2 * part.label;
        LaneArray zero(n + 1), one(n + 1);
        const Lanes *out0 = at.outside[0].data(), *out1 = at.outside[1].data();
        combine(out0, factors_.zero[k], out1, factors_.zero[k + 1], n, zero.data());
        combine(out0, factors_.one[k], out1, factors_.one[k + 1], n, one.data() + 1);  // the label itself counts
        multiply(one.data(), n + 1, below(part, 1), part.size, answer.data());
        visit(part.label, answer.data());
        if (part.left != kNone) open.push_back({part.left, std::move(zero), std::move(one)});
    }

    const Tree& tree_;
    const Plan& plan_;
    std::size_t n_labels_;
    LaneFactors factors_;
    LaneArray inside_, unit_;
};

// By rounding, a sum of probabilities may be slightly above one.
void write(const Lanes* coefficients, std::size_t count, std::size_t lane, double* out) {
    for (std::size_t s = 0; s < count; ++s) out[s] = std::min(1.0, coefficients[s][lane]);
}

// Call use(block, first row, number of rows) for every eight rows.
template <class Use>
void each_block(const Tree& tree, const Plan& plan, int n_threads, Use&& use) {
    threads::parallel_rows(tree.n_rows, 4 * kLanes, n_threads, [&](std::size_t begin, std::size_t end) {
        CountBlock block(tree, plan);
        for (std::size_t first = begin; first < end; first += kLanes) {
            const std::size_t size = std::min<std::size_t>(kLanes, end - first);
            block.load(first, size);
            use(block, first, size);
        }
    });
}

}  // namespace

void cardinality(const Tree& tree, double* cardinality, int n_threads) {
    const Plan plan(tree);
    const std::size_t width = tree.n_labels + 1;
    each_block(tree, plan, n_threads, [&](CountBlock& block, std::size_t first, std::size_t size) {
        for (std::size_t lane = 0; lane < size; ++lane)
            write(block.total(), width, lane, cardinality + (first + lane) * width);
    });
}

void cardinality_by_label(const Tree& tree, double* out, int n_threads) {
    const Plan plan(tree);
    const std::size_t width = tree.n_labels + 1;
    each_block(tree, plan, n_threads, [&](CountBlock& block, std::size_t first, std::size_t size) {
        block.by_label([&](std::size_t label, const Lanes* coefficients) {
            for (std::size_t lane = 0; lane < size; ++lane)
                write(coefficients, width, lane, out + ((first + lane) * tree.n_labels + label) * width);
        });
    });
}

}  // namespace labelweave::tree
