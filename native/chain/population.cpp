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

// Both continuations of prefixes, before those that are lighter than the quantum are drawn.
struct Continuations {
    double *zero, *one;  // the weights: the sibling of a light one has its parent's whole weight
    double* share;       // the probability that a light one is drawn
};

struct Split {
    double positive;         // weight of all positive continuations
    double shares;           // sum of the shares
    bool no_heavy_positive;  // whether all positive continuations are light
};

LABELWEAVE_KERNEL Split split(const double* log_odds, const double* weight, std::size_t count, double quantum,
                              const Continuations& out) {
    const Lanes nothing = broadcast(0.0), least = broadcast(quantum);
    Lanes positive{}, shares{}, n_positive{};
    for (std::size_t i = 0; i < count; i += kLanes) {
        const Lanes z = load(log_odds + i), w = load(weight + i);
        const Lanes e = exp_nonpositive(-abs(z)), likelier = w / (1.0 + e), other = likelier * e;
        const LaneMask up = z > 0.0;
        const Lanes one = select(up, likelier, other), zero = select(up, other, likelier);
        const LaneMask down = zero < one;
        const Lanes lighter = select(down, zero, one), given = select(w < least, w, least);
        const LaneMask light = lighter < least;
        const Lanes share = select(w > 0.0, select(light, lighter / given, nothing), nothing);
        const Lanes kept = select(light, select(down, w, nothing), one);
        store(out.zero + i, select(light, select(down, nothing, w), zero));
        store(out.one + i, kept);
        store(out.share + i, share);
        positive += one;
        shares += share;
        n_positive += select(kept > 0.0, broadcast(1.0), nothing);
    }
    return {sum(positive), sum(shares), sum(n_positive) == 0.0};
}

// The threshold c at which `size` prefixes are left: the sum of min(w / c, 1) is `size`. From a c where the sum is
// smaller, every step lowers c to the solution for the weights that are light so far.
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
          zero_(padded(size)), one_(padded(size)), share_(padded(size)), child_weight_(padded(2 * size)),
          child_(2 * size + 1), history_(coupling.length() * size) {
        for (auto* list : {&slots_, &next_slots_, &free_}) list->reserve(size + 1);
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
                hand_on(p);
                continue;
            }
            std::fill(at_.begin() + slots_.size(), at_.end(), 0.0);
            const Split found =
                split(at_.data(), weight_.data(), slots_.size(), quantum_, {zero_.data(), one_.data(), share_.data()});
            marginals[label] = std::min(found.positive, 1.0);
            const double reached = uniform(label, 0);
            // In any order of addition, the sum of the shares is not close to one.
            const bool none_drawn = reached + found.shares < 1.0 - 1e-9;
            // The usual case for a rare label: every prefix continues with 0.
            if (none_drawn && found.no_heavy_positive) {
                for (std::size_t s = 0; s < slots_.size(); ++s) history_[p * size_ + s] = step(s, 0);
                continue;
            }
            if (!none_drawn) draw_lighter(reached);
            branch();
            if (n_children_ > size_) cut(uniform(label, 1));
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
                const Step last = history_[p * size_ + at];
                labels[k * n_labels + coupling_.label(p)] = value_of(last);
                at = parent_of(last);
            }
        }
    }

  private:
    // A prefix and the label that extends it, in one word, which is written faster than two.
    using Step = std::uint32_t;
    static Step step(std::size_t parent, int y) { return static_cast<Step>(2 * parent + (y != 0)); }
    static std::size_t parent_of(Step step) { return step / 2; }
    static std::int8_t value_of(Step step) { return step % 2; }

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

    // A known label multiplies the weight of each prefix by its probability there. Weights are then normalised; where
    // the label is impossible, they stay the same and the evidence has probability zero.
    void observe(int y) {
        double best = -kInfinity, total = 0.0;
        for (std::size_t s = 0; s < slots_.size(); ++s) {
            at_[s] = bernoulli_log_prob(y, at_[s]);
            if (weight_[s] > 0.0) best = std::max(best, at_[s]);
        }
        n_children_ = slots_.size();
        for (std::size_t s = 0; s < n_children_; ++s) {
            child_[s] = step(s, y);
            const bool weighs = best > -kInfinity && weight_[s] > 0.0;
            child_weight_[s] = weighs ? weight_[s] * std::exp(at_[s] - best) : weight_[s];
            total += child_weight_[s];
        }
        if (total > 0.0)
            for (std::size_t s = 0; s < n_children_; ++s) child_weight_[s] /= total;
        log_evidence_ += best + std::log(total);
    }

    // Draw systematically among the light continuations: one whenever the sum of shares passes a whole number. It gets
    // the quantum, or its parent's whole weight; its sibling gets the rest.
    void draw_lighter(double reached) {
        for (std::size_t s = 0; s < slots_.size(); ++s) {
            reached += share_[s];
            if (reached < 1.0) continue;
            reached -= 1.0;
            const double given = std::min(quantum_, weight_[s]);
            double &lighter = zero_[s] > 0.0 ? one_[s] : zero_[s], &other = zero_[s] > 0.0 ? zero_[s] : one_[s];
            lighter = given;
            other = weight_[s] - given;
        }
    }

    // The continuations that have weight. Prefixes with the same last labels are next to each other, so that draws are
    // balanced over the last labels.
    void branch() {
        n_children_ = 0;
        for (int y : {0, 1}) {
            const std::vector<double>& weight = y ? one_ : zero_;
            for (std::size_t s = 0; s < slots_.size(); ++s) {
                child_weight_[n_children_] = weight[s];
                child_[n_children_] = step(s, y);
                n_children_ += weight[s] > 0.0;
            }
        }
    }

    // Keep the heavy children and draw among the others. This draw has its own random number, since the remainder of
    // earlier draws depends on their results.
    void cut(double reached) {
        std::fill(child_weight_.begin() + n_children_, child_weight_.end(), 0.0);
        const double c = threshold(child_weight_.data(), n_children_, size_);
        std::size_t left = 0;
        for (std::size_t k = 0; k < n_children_ && left < size_; ++k) {  // by rounding, one too many may be left
            const double weight = child_weight_[k];
            if (weight < c) reached += weight / c;
            if (weight < c && reached < 1.0) continue;
            reached -= weight < c;
            child_[left] = child_[k];
            child_weight_[left++] = std::max(weight, c);
        }
        n_children_ = left;
        quantum_ = std::max(quantum_, c);
    }

    // The children take over the score vectors of their parents.
    void hand_on(std::size_t p) {
        siblings_.assign(slots_.size(), 0);
        for (std::size_t k = 0; k < n_children_; ++k) ++siblings_[parent_of(child_[k])];
        for (std::size_t s = 0; s < slots_.size(); ++s)
            if (siblings_[s] == 0) free_.push_back(slots_[s]);
        next_slots_.clear();
        std::fill(weight_.begin(), weight_.end(), 0.0);
        std::copy_n(child_weight_.begin(), n_children_, weight_.begin());
        std::copy_n(child_.begin(), n_children_, history_.begin() + p * size_);
        for (std::size_t k = 0; k < n_children_; ++k) {
            const std::size_t parent = parent_of(child_[k]);
            next_slots_.push_back(slots_[parent]);
            if (!value_of(child_[k])) continue;
            double* from = scores(slots_[parent]);
            if (siblings_[parent] == 2) {
                next_slots_.back() = free_.back();
                free_.pop_back();
            }
            add_effect(from, coupling_.effect(p), p + 1, coupling_.length(), scores(next_slots_.back()));
        }
        slots_.swap(next_slots_);
    }

    const Coupling& coupling_;
    std::size_t size_;
    std::vector<double> pool_, at_, weight_, zero_, one_, share_, child_weight_;
    std::vector<Step> child_, history_;
    std::size_t n_children_ = 0;
    std::vector<std::uint32_t> slots_, next_slots_, free_;
    std::vector<std::uint8_t> siblings_;
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
