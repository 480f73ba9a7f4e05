#include "chain.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "lanes.hpp"
#include "numerics.hpp"
#include "parallel.hpp"

namespace labelweave {
namespace {

constexpr std::size_t kRowBlock = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The coupling in chain order, stored by cause: effect(p)[q] is what a positive label at position p
// adds to the score at position q > p, contiguous in q.
class Links {
  public:
    explicit Links(const Chain& chain) : chain_(chain), effect_(chain.length * chain.length, 0.0) {
        for (std::size_t p = 0; p < chain.length; ++p)
            for (std::size_t q = p + 1; q < chain.length; ++q)
                effect_[p * chain.length + q] = chain.coupling[chain.order[q] * chain.n_labels + chain.order[p]];
    }
    std::size_t length() const { return chain_.length; }
    std::size_t label(std::size_t p) const { return static_cast<std::size_t>(chain_.order[p]); }
    const double* effect(std::size_t p) const { return effect_.data() + p * chain_.length; }
    void load(std::size_t row, double* z) const {
        for (std::size_t p = 0; p < length(); ++p) z[p] = chain_.scores[row * chain_.n_labels + label(p)];
    }

  private:
    const Chain& chain_;
    std::vector<double> effect_;
};

// out[q] = z[q] + effect[q] for begin <= q < end; out may be z.
LABELWEAVE_KERNEL void add_effect(const double* z, const double* effect, std::size_t begin, std::size_t end,
                                  double* out) {
    for (std::size_t q = begin; q < end; ++q) out[q] = z[q] + effect[q];
}

// Walk one row from its loaded scores: decide(p, z_p) names the label at position p.
template <class Decide>
void walk(const Links& links, double* z, Decide&& decide) {
    for (std::size_t p = 0; p < links.length(); ++p)
        if (decide(p, z[p])) add_effect(z, links.effect(p), p + 1, links.length(), z);
}

// How far the labels from position p on can still move the score at q > p: the interval bound.
class Slack {
  public:
    explicit Slack(const Links& links)
        : length_(links.length()), rise_(length_ * length_, 0.0), fall_(length_ * length_, 0.0) {
        for (std::size_t p = length_; p-- > 0;)
            for (std::size_t q = p + 1; q < length_; ++q) {
                const double v = links.effect(p)[q];
                rise_[p * length_ + q] = (p + 1 < length_ ? rise_[(p + 1) * length_ + q] : 0.0) + std::max(0.0, v);
                fall_[p * length_ + q] = (p + 1 < length_ ? fall_[(p + 1) * length_ + q] : 0.0) + std::min(0.0, v);
            }
    }

    // At least the log-probability that any labels from position p on can contribute, given their scores
    // after the labels before p. Stops early, with a value below `enough`, once that is certain.
    double bound(std::size_t p, const double* z, const std::int8_t* given, double enough) const {
        double total = 0.0;
        for (std::size_t q = p; q < length_ && total >= enough; ++q) {
            const double high = z[q] + rise_[p * length_ + q], low = z[q] + fall_[p * length_ + q];
            const double margin = given[q] < 0 ? std::max(high, -low) : (given[q] ? high : -low);
            total -= log1pexp(-margin);
        }
        return total;
    }

  private:
    std::size_t length_;
    std::vector<double> rise_, fall_;
};

// Branch and bound for one row. Scores are kept per depth, not undone, so no rounding error builds up
// and the log-probability of a leaf is the one chain_log_prob computes.
class ModeSearch {
  public:
    ModeSearch(const Links& links, const Slack& slack)
        : links_(links), slack_(slack), scores_((links.length() + 1) * links.length()), given_(links.length()),
          path_(links.length()) {}

    double run(const std::vector<double>& z, std::int8_t* labels) {
        for (std::size_t p = 0; p < links_.length(); ++p) given_[p] = labels[links_.label(p)];
        labels_ = labels;
        best_ = -kInfinity;
        descend(0, z.data(), 0.0);
        return best_;
    }

  private:
    void descend(std::size_t p, const double* z, double log_prob) {
        if (p == links_.length()) return record(log_prob);
        if (best_ > -kInfinity && log_prob + slack_.bound(p, z, given_.data(), best_ - log_prob) <= best_) return;
        const int likelier = z[p] > 0.0;
        for (const int y : {likelier, 1 - likelier}) {
            if (given_[p] >= 0 && given_[p] != y) continue;
            path_[p] = static_cast<std::int8_t>(y);
            double* below = scores_.data() + (p + 1) * links_.length();
            if (y) add_effect(z, links_.effect(p), p + 1, links_.length(), below);
            descend(p + 1, y ? below : z, log_prob + bernoulli_log_prob(y, z[p]));
        }
    }

    void record(double log_prob) {
        if (!(log_prob > best_)) return;
        best_ = log_prob;
        for (std::size_t p = 0; p < links_.length(); ++p) labels_[links_.label(p)] = path_[p];
    }

    const Links& links_;
    const Slack& slack_;
    std::vector<double> scores_;
    std::vector<std::int8_t> given_, path_;
    std::int8_t* labels_ = nullptr;
    double best_ = -kInfinity;
};

// Scores of one label for all prefixes: the sums of every subset of the effects, by doubling.
LABELWEAVE_KERNEL void double_scores(double* w, std::size_t half, double effect) {
    for (std::size_t i = 0; i < half; ++i) w[half + i] = w[i] + effect;
}

// Split every prefix into its two continuations: y = 0 stays in place, y = 1 goes to the upper half.
// Both need log(1 + e^-|w|) only, eight prefixes at a time.
LABELWEAVE_KERNEL void split_prefixes(double* log_prob, const double* w, std::size_t size) {
    std::size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
        Lanes score, total;
        std::memcpy(&score, w + i, sizeof score);
        std::memcpy(&total, log_prob + i, sizeof total);
        const Lanes size_of_score = abs(score);
        const Lanes tail = log1p_unit(exp_nonpositive(-size_of_score));
        const Lanes one = total - (0.5 * (size_of_score - score) + tail);
        const Lanes zero = total - (0.5 * (size_of_score + score) + tail);
        std::memcpy(log_prob + size + i, &one, sizeof one);
        std::memcpy(log_prob + i, &zero, sizeof zero);
    }
    for (; i < size; ++i) {
        const double total = log_prob[i];
        log_prob[size + i] = total + bernoulli_log_prob(1, w[i]);
        log_prob[i] = total + bernoulli_log_prob(0, w[i]);
    }
}

// One row of chain_table: all prefixes side by side, one label after the other.
class Expansion {
  public:
    Expansion(const Links& links, std::size_t n_columns)
        : links_(links), base_(links.length()), log_prob_(n_columns), scores_(n_columns), column_(n_columns) {}

    void run(std::size_t row, const std::int8_t* known, const std::int64_t* slot, double* out) {
        links_.load(row, base_.data());
        open_.clear();
        log_prob_[0] = 0.0;
        column_[0] = 0;
        for (std::size_t q = 0; q < links_.length(); ++q) {
            const std::size_t label = links_.label(q);
            score_prefixes(q);
            if (known[label] < 0)
                branch(q, std::size_t{1} << slot[label]);
            else
                fix(q, known[label], slot[label] < 0 ? 0 : std::size_t{1} << slot[label]);
        }
        const std::size_t size = std::size_t{1} << open_.size();
        for (std::size_t i = 0; i < size; ++i) out[column_[i]] = log_prob_[i];
    }

  private:
    void score_prefixes(std::size_t q) {
        scores_[0] = base_[q];
        for (std::size_t t = 0; t < open_.size(); ++t)
            double_scores(scores_.data(), std::size_t{1} << t, links_.effect(open_[t])[q]);
    }

    void branch(std::size_t q, std::size_t bit) {
        const std::size_t size = std::size_t{1} << open_.size();
        split_prefixes(log_prob_.data(), scores_.data(), size);
        for (std::size_t i = 0; i < size; ++i) column_[size + i] = column_[i] | bit;
        open_.push_back(q);
    }

    void fix(std::size_t q, int y, std::size_t bit) {
        const std::size_t size = std::size_t{1} << open_.size();
        for (std::size_t i = 0; i < size; ++i) {
            log_prob_[i] += bernoulli_log_prob(y, scores_[i]);
            if (y) column_[i] |= bit;
        }
        if (y) add_effect(base_.data(), links_.effect(q), q + 1, links_.length(), base_.data());
    }

    const Links& links_;
    std::vector<double> base_, log_prob_, scores_;
    std::vector<std::size_t> column_, open_;
};

}  // namespace

void chain_log_prob(const Chain& chain, const std::int8_t* labels, double* log_prob, int n_threads) {
    const Links links(chain);
    parallel_rows(chain.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> z(chain.length);
        for (std::size_t i = begin; i < end; ++i) {
            const std::int8_t* y = labels + i * chain.n_labels;
            links.load(i, z.data());
            log_prob[i] = 0.0;
            walk(links, z.data(), [&](std::size_t p, double score) {
                const bool label = y[links.label(p)] != 0;
                log_prob[i] += bernoulli_log_prob(label, score);
                return label;
            });
        }
    });
}

void chain_greedy(const Chain& chain, std::int8_t* labels, double* log_prob, double* upper_bound, int n_threads) {
    const Links links(chain);
    const Slack slack(links);
    parallel_rows(chain.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> z(chain.length);
        std::vector<std::int8_t> given(chain.length);
        for (std::size_t i = begin; i < end; ++i) {
            std::int8_t* y = labels + i * chain.n_labels;
            for (std::size_t p = 0; p < chain.length; ++p) given[p] = y[links.label(p)];
            links.load(i, z.data());
            upper_bound[i] = slack.bound(0, z.data(), given.data(), -kInfinity);
            log_prob[i] = 0.0;
            walk(links, z.data(), [&](std::size_t p, double score) {
                std::int8_t& label = y[links.label(p)];
                if (label < 0) label = score > 0.0;
                log_prob[i] += bernoulli_log_prob(label, score);
                return label != 0;
            });
        }
    });
}

void chain_mode(const Chain& chain, std::int8_t* labels, double* log_prob, int n_threads) {
    const Links links(chain);
    const Slack slack(links);
    // Rows differ widely in how much of the tree they must see: hand them out a few at a time.
    parallel_rows(chain.n_rows, 8, n_threads, [&](std::size_t begin, std::size_t end) {
        ModeSearch search(links, slack);
        std::vector<double> z(chain.length);
        for (std::size_t i = begin; i < end; ++i) {
            links.load(i, z.data());
            log_prob[i] = search.run(z, labels + i * chain.n_labels);
        }
    });
}

void chain_table(const Chain& chain, const std::int8_t* known, const std::int64_t* slot, std::size_t n_columns,
                 double* out, int n_threads) {
    const Links links(chain);
    parallel_rows(chain.n_rows, 8, n_threads, [&](std::size_t begin, std::size_t end) {
        Expansion expansion(links, n_columns);
        for (std::size_t i = begin; i < end; ++i) {
            std::fill_n(out + i * n_columns, n_columns, -kInfinity);
            expansion.run(i, known + i * chain.n_labels, slot, out + i * n_columns);
        }
    });
}

void chain_sample(const Chain& chain, const std::int64_t* rows, std::uint64_t seed, std::size_t n_draws,
                  std::int8_t* labels, double* log_weight, int n_threads) {
    const Links links(chain);
    parallel_rows(chain.n_rows * n_draws, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> z(chain.length);
        for (std::size_t cell = begin; cell < end; ++cell) {
            const std::size_t i = cell / n_draws;
            const auto draw = static_cast<std::uint32_t>(cell % n_draws);
            std::int8_t* y = labels + cell * chain.n_labels;
            links.load(i, z.data());
            double weight = 0.0;
            walk(links, z.data(), [&](std::size_t p, double score) {
                const std::size_t label = links.label(p);
                if (y[label] >= 0)
                    weight += bernoulli_log_prob(y[label], score);
                else
                    y[label] = uniform(seed, static_cast<std::uint64_t>(rows[i]), draw,
                                       static_cast<std::uint32_t>(label)) < sigmoid(score);
                return y[label] != 0;
            });
            log_weight[cell] = weight;
        }
    });
}

}  // namespace labelweave
