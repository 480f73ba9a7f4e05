#include "chain/population.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "chain/coupling.hpp"
#include "random/philox.hpp"
#include "simd/lanes.hpp"
#include "simd/scalar_math.hpp"
#include "threads/share_rows.hpp"

namespace labelweave::chain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t padded(std::size_t size) { return (size / kLanes + 1) * kLanes; }

// Both continuations of prefixes with these log-odds and weights; returns the weight of the positive ones.
LABELWEAVE_KERNEL double weigh_children(const double* log_odds, const double* weight, std::size_t count, double* zero,
                                        double* one) {
    Lanes positive{};
    for (std::size_t i = 0; i < count; i += kLanes) {
        const Lanes z = load(log_odds + i), w = load(weight + i);
        const Lanes e = exp_nonpositive(-abs(z)), likelier = w / (1.0 + e), other = likelier * e;
        const LaneMask up = z > 0.0;
        const Lanes y = select(up, likelier, other);
        store(one + i, y);
        store(zero + i, select(up, other, likelier));
        positive += y;
    }
    return sum(positive);
}

// The threshold c at which `size` prefixes are left: the sum of min(w / c, 1) is `size`. From above, where it is less;
// every step lowers c to the solution for the weights that are light so far.
LABELWEAVE_KERNEL double threshold(const double* weight, std::size_t count, std::size_t size) {
    for (double c = 1.0 / static_cast<double>(size);;) {  // the weights sum to one
        Lanes n_heavy{}, light{};
        for (std::size_t i = 0; i < count; i += kLanes) {
            const Lanes w = load(weight + i);
            const LaneMask heavy = w >= c;
            n_heavy += select(heavy, broadcast(1.0), broadcast(0.0));
            light += select(heavy, broadcast(0.0), w);
        }
        const double room = static_cast<double>(size) - sum(n_heavy);
        if (room < 0.5) return c;
        const double next = sum(light) / room;
        if (!(next < c && next > 0.0)) return c;
        c = next;
    }
}

class Population {
  public:
    Population(const Coupling& coupling, std::size_t size)
        : coupling_(coupling), size_(size), pool_(size * coupling.stride()), at_(padded(size)), weight_(padded(size)),
          zero_(padded(size)), one_(padded(size)), history_(coupling.length() * size) {
        for (auto* list : {&slots_, &next_slots_, &free_}) list->reserve(size + 1);
        children_.reserve(2 * size);
    }

    // `uniform(label, i)` in (0, 1), i = 0 or 1; marginals are written by label.
    template <class Uniform>
    void run(std::size_t row, const std::int8_t* known, Uniform&& uniform, double* marginals) {
        start(row);
        for (std::size_t p = 0; p < coupling_.length(); ++p) {
            const std::size_t label = coupling_.label(p);
            for (std::size_t s = 0; s < slots_.size(); ++s) at_[s] = scores(slots_[s])[p];
            if (known[label] >= 0) {
                observe(known[label]);
                marginals[label] = known[label];
            } else {
                marginals[label] = std::min(branch(uniform(label, 0), uniform(label, 1)), 1.0);
            }
            hand_on(p);
        }
    }

    double log_evidence() const { return log_evidence_; }
    double quantum() const { return quantum_; }

    void store_vectors(std::int8_t* labels, std::size_t n_labels, double* log_weight) const {
        for (std::size_t k = 0; k < size_; ++k) {
            std::size_t at = k < slots_.size() ? k : 0;
            log_weight[k] = k < slots_.size() ? log_evidence_ + std::log(weight_[k]) : -kInfinity;
            for (std::size_t p = coupling_.length(); p-- > 0;) {
                const Step step = history_[p * size_ + at];
                labels[k * n_labels + coupling_.label(p)] = step.y;
                at = step.parent;
            }
        }
    }

  private:
    struct Step {
        std::uint32_t parent;
        std::int8_t y;
    };
    struct Child {
        double weight;
        Step step;
    };

    double* scores(std::size_t slot) { return pool_.data() + slot * coupling_.stride(); }

    void start(std::size_t row) {
        slots_.assign(1, 0);
        free_.clear();
        for (std::size_t slot = size_; slot-- > 1;) free_.push_back(static_cast<std::uint32_t>(slot));
        coupling_.load(row, scores(0));
        std::fill(weight_.begin(), weight_.end(), 0.0);
        weight_[0] = 1.0;
        log_evidence_ = quantum_ = 0.0;
    }

    void keep(std::size_t parent, int y, double weight) {
        children_.push_back({weight, {static_cast<std::uint32_t>(parent), static_cast<std::int8_t>(y)}});
    }

    // A known label weighs the prefixes by how likely they made it. Weights sum to one again; where the label is
    // impossible, they stay as they are and the evidence has no probability.
    void observe(int y) {
        double best = -kInfinity, total = 0.0;
        for (std::size_t s = 0; s < slots_.size(); ++s) {
            at_[s] = bernoulli_log_prob(y, at_[s]);
            best = std::max(best, at_[s]);
        }
        children_.clear();
        for (std::size_t s = 0; s < slots_.size(); ++s) {
            keep(s, y, best > -kInfinity ? weight_[s] * std::exp(at_[s] - best) : weight_[s]);
            total += children_.back().weight;
        }
        if (total > 0.0)
            for (Child& child : children_) child.weight /= total;
        log_evidence_ += best + std::log(total);
    }

    // Extend every prefix by both values of an unknown label, or by one of them; returns the weight of the positive
    // ones. Draws are systematic, `reached` from one to the next. What they leave is not independent of who was drawn:
    // a cut takes a number of its own.
    double branch(double reached, double reached_in_cut) {
        const std::size_t count = slots_.size();
        std::fill(at_.begin() + count, at_.end(), 0.0);
        const double positive = weigh_children(at_.data(), weight_.data(), count, zero_.data(), one_.data());
        for (std::size_t s = 0; s < count; ++s) draw_lighter(s, reached);
        children_.clear();
        // Prefixes that agree in the last labels are next to each other, so that draws are balanced over these.
        for (std::size_t s = 0; s < count; ++s)
            if (zero_[s] > 0.0) keep(s, 0, zero_[s]);
        for (std::size_t s = 0; s < count; ++s)
            if (one_[s] > 0.0) keep(s, 1, one_[s]);
        if (children_.size() > size_) cut(reached_in_cut);
        return positive;
    }

    // A child lighter than what prefixes are drawn at is drawn itself; its sibling has the rest of their weight.
    void draw_lighter(std::size_t s, double& reached) {
        double &lighter = zero_[s] < one_[s] ? zero_[s] : one_[s], &other = zero_[s] < one_[s] ? one_[s] : zero_[s];
        if (lighter >= quantum_) return;
        const double given = std::min(quantum_, weight_[s]);
        reached += lighter / given;
        const bool drawn = reached >= 1.0;
        reached -= drawn;
        lighter = drawn ? given : 0.0;
        other = weight_[s] - lighter;
    }

    // Keep the heavy children, draw among the others.
    void cut(double reached) {
        child_weight_.assign(padded(children_.size()), 0.0);
        for (std::size_t k = 0; k < children_.size(); ++k) child_weight_[k] = children_[k].weight;
        const double c = threshold(child_weight_.data(), children_.size(), size_);
        std::size_t left = 0;
        for (const Child& child : children_) {
            if (left == size_) break;  // one too many, by rounding
            if (child.weight < c) reached += child.weight / c;
            if (child.weight < c && reached < 1.0) continue;
            reached -= child.weight < c;
            children_[left++] = {std::max(child.weight, c), child.step};
        }
        children_.resize(left);
        quantum_ = std::max(quantum_, c);
    }

    // The children take over the score vectors of their parents.
    void hand_on(std::size_t p) {
        n_children_.assign(slots_.size(), 0);
        for (const Child& child : children_) ++n_children_[child.step.parent];
        for (std::size_t s = 0; s < slots_.size(); ++s)
            if (n_children_[s] == 0) free_.push_back(slots_[s]);
        next_slots_.clear();
        std::fill(weight_.begin(), weight_.end(), 0.0);
        for (std::size_t k = 0; k < children_.size(); ++k) {
            const auto [parent, y] = children_[k].step;
            history_[p * size_ + k] = children_[k].step;
            weight_[k] = children_[k].weight;
            next_slots_.push_back(slots_[parent]);
            if (!y) continue;
            double* from = scores(slots_[parent]);
            if (n_children_[parent] == 2) {
                next_slots_.back() = free_.back();
                free_.pop_back();
            }
            add_effect(from, coupling_.effect(p), p + 1, coupling_.length(), scores(next_slots_.back()));
        }
        slots_.swap(next_slots_);
    }

    const Coupling& coupling_;
    std::size_t size_;
    std::vector<double> pool_, at_, weight_, zero_, one_, child_weight_;
    std::vector<Step> history_;
    std::vector<Child> children_;
    std::vector<std::uint32_t> slots_, next_slots_, free_;
    std::vector<int> n_children_;
    double log_evidence_ = 0.0, quantum_ = 0.0;
};

}  // namespace

void populations(const Chain& chain, const std::int8_t* known, const std::int64_t* rows, std::uint64_t seed,
                 const PopulationSizes& sizes, const Populations& out, int n_threads, threads::Interrupt& interrupt) {
    const Coupling coupling(chain);
    const auto run_row = [&](Population& population, std::size_t i) {
        for (std::size_t r = 0; r < sizes.n_populations; ++r) {
            interrupt.check();
            const std::size_t at = i * sizes.n_populations + r;
            const auto uniform = [&](std::size_t label, std::size_t which) {
                return random::uniform(seed, static_cast<std::uint64_t>(rows[i]),
                                       static_cast<std::uint32_t>(2 * r + which), static_cast<std::uint32_t>(label));
            };
            population.run(i, known + i * chain.n_labels, uniform, out.marginals + at * chain.n_labels);
            out.log_evidence[at] = population.log_evidence();
            out.quantum[at] = population.quantum();
            if (out.labels)
                population.store_vectors(out.labels + at * sizes.size * chain.n_labels, chain.n_labels,
                                         out.log_weight + at * sizes.size);
        }
    };
    threads::share_rows(
        chain.n_rows, n_threads, interrupt,
        [&] {
            return
                [&, population = Population(coupling, sizes.size)](std::size_t i) mutable { run_row(population, i); };
        },
        1);
}

}  // namespace labelweave::chain
