// With Q(prefix) the polynomial whose coefficient t is the probability of t more positive labels after a prefix,
// Q(prefix) = P(0 | prefix) Q(prefix 0) + P(1 | prefix) x Q(prefix 1), from the last label back to the first, and label
// j takes P(prefix 1) Q(prefix 1) of every prefix that ends before it. Half of all prefixes lack one label and have
// short polynomials, so that the sums cost a few operations per vector. Every term is positive.
#include "chain/cardinality.hpp"

#include <algorithm>
#include <vector>

#include "simd/lane_math.hpp"
#include "threads/share_rows.hpp"

namespace labelweave::chain {
namespace {

// The effects of earlier labels on the log-odds of each label of the chain, for all prefixes. The numbers of the label
// at position p begin at 2^p, and bit k of a prefix is the label at position k. All rows share them.
std::vector<double> prefix_effects(const Chain& chain) {
    std::vector<double> effects(std::size_t{1} << chain.length);
    for (std::size_t p = 0; p < chain.length; ++p) {
        double* of = effects.data() + (std::size_t{1} << p);
        const double* coupling = chain.coupling + chain.order[p] * chain.n_labels;
        of[0] = 0.0;
        for (std::size_t k = 0; k < p; ++k) {
            const std::size_t half = std::size_t{1} << k;
            for (std::size_t prefix = 0; prefix < half; ++prefix)
                of[half + prefix] = of[prefix] + coupling[chain.order[k]];
        }
    }
    return effects;
}

// Eight rows, one per lane.
class CountWalk {
  public:
    CountWalk(const Chain& chain, const std::vector<double>& effects, bool by_label)
        : chain_(chain), effects_(effects), by_label_(by_label), length_(chain.length), width_(chain.length + 1),
          scores_(length_), polynomials_(width_ * width_), labels_(by_label ? length_ * width_ : 0) {}

    void walk(std::size_t first, std::size_t size) {
        for (std::size_t p = 0; p < length_; ++p)
            for (std::size_t lane = 0; lane < size; ++lane)
                scores_[p][lane] = chain_.scores[(first + lane) * chain_.n_labels + chain_.order[p]];
        for (std::size_t i = 0; i < labels_.size(); ++i) labels_.put(i, Lanes{});
        visit(0, 0, 0, broadcast(1.0));
    }

    // By rounding, a sum of probabilities may be slightly above one.
    void write(std::size_t lane, double* cardinality, double* by_label) const {
        for (std::size_t s = 0; cardinality && s < width_; ++s) cardinality[s] = std::min(1.0, polynomials_[s][lane]);
        for (std::size_t p = 0; by_label_ && p < length_; ++p)
            for (std::size_t s = 0; s < width_; ++s)
                by_label[chain_.order[p] * width_ + s] = std::min(1.0, labels_[p * width_ + s][lane]);
    }

  private:
    Bernoulli conditional(std::size_t p, std::size_t prefix) const {
        return bernoulli(scores_.at(p) + effects_[(std::size_t{1} << p) + prefix]);
    }

    // Write the polynomial of a prefix of p labels, `count` of them positive, to row p of the polynomials, and add its
    // contributions to the later labels.
    void visit(std::size_t p, std::size_t prefix, std::size_t count, const Lanes& probability) {
        const Bernoulli label = conditional(p, prefix);
        if (p + 1 == length_) return end(count + 1, label, probability * label.one);
        visit(p + 1, prefix, count, probability * label.zero);
        scale(p, label.zero);
        const Lanes reached = probability * label.one;
        visit(p + 1, prefix | std::size_t{1} << p, count + 1, reached);
        join(p, count + 1, label.one, reached);
    }

    // The last label has none after it.
    void end(std::size_t count, const Bernoulli& label, const Lanes& reached) {
        const std::size_t to = (length_ - 1) * width_;
        polynomials_.put(to, label.zero);
        polynomials_.put(to + 1, label.one);
        if (by_label_) labels_.put(to + count, labels_.at(to + count) + reached);
    }

    // P(0 | prefix) Q(prefix 0).
    LABELWEAVE_KERNEL void scale(std::size_t p, const Lanes& zero) {
        const std::size_t from = (p + 1) * width_, to = p * width_, n = length_ - p;
        for (std::size_t t = 0; t < n; ++t) polynomials_.put(to + t, zero * polynomials_.at(from + t));
        polynomials_.put(to + n, Lanes{});
    }

    // Add P(1 | prefix) x Q(prefix 1), and the contribution to the label itself.
    LABELWEAVE_KERNEL void join(std::size_t p, std::size_t count, const Lanes& one, const Lanes& reached) {
        const std::size_t from = (p + 1) * width_, to = p * width_ + 1, n = length_ - p, mine = p * width_ + count;
        for (std::size_t t = 0; t < n; ++t) {
            const Lanes after = polynomials_.at(from + t);
            polynomials_.put(to + t, polynomials_.at(to + t) + one * after);
            if (by_label_) labels_.put(mine + t, labels_.at(mine + t) + reached * after);
        }
    }

    const Chain& chain_;
    const std::vector<double>& effects_;
    bool by_label_;
    std::size_t length_, width_;
    LaneArray scores_, polynomials_, labels_;
};

}  // namespace

void cardinality(const Chain& chain, double* cardinality, double* by_label, int n_threads,
                 threads::Interrupt& interrupt) {
    const std::vector<double> effects = prefix_effects(chain);
    const std::size_t width = chain.length + 1, n_blocks = (chain.n_rows + kLanes - 1) / kLanes;
    const auto make_worker = [&] {
        return [&, worker = CountWalk(chain, effects, by_label != nullptr)](std::size_t block) mutable {
            const std::size_t first = block * kLanes, size = std::min<std::size_t>(kLanes, chain.n_rows - first);
            worker.walk(first, size);
            for (std::size_t lane = 0; lane < size; ++lane)
                worker.write(lane, cardinality ? cardinality + (first + lane) * width : nullptr,
                             by_label ? by_label + (first + lane) * chain.length * width : nullptr);
        };
    };
    threads::share_rows(n_blocks, n_threads, interrupt, make_worker, 1);
}

}  // namespace labelweave::chain
