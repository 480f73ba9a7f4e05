#include "chain/beam.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chain/coupling.hpp"
#include "chain/interval_bound.hpp"
#include "threads/share_rows.hpp"

namespace labelweave::chain {
namespace {

// The survivors of one row, each with its own score vector. A prefix of which one continuation survives passes its
// vector on, so most steps copy nothing.
class Beam {
  public:
    Beam(const Coupling& coupling, const ScoreIntervals& intervals, std::size_t width, threads::Interrupt& interrupt)
        : coupling_(coupling), intervals_(intervals), width_(width), interrupt_(interrupt),
          evidence_(coupling.stride()), rest_(coupling.stride() + 1), most_(coupling.stride()),
          pool_(width * coupling.stride()), at_(width + 16), tails_(width + 16), history_(coupling.length() * width) {}

    void run(std::size_t row, const std::int8_t* known) {
        start(row, known);
        for (std::size_t p = 0; p < coupling_.length(); ++p) {
            if (width_ > 256) interrupt_.check();  // a narrow beam ends before anyone could interrupt it
            extend(p);
            keep_best(p);
            hand_on(p);
        }
    }

    // Survivors come in decreasing order.
    std::size_t n_survivors() const { return log_prob_.size(); }
    double log_prob(std::size_t rank) const { return log_prob_[rank]; }
    void store(std::size_t rank, std::int8_t* labels) const {
        std::size_t at = rank;
        for (std::size_t p = coupling_.length(); p-- > 0;) {
            const Step step = history_[p * width_ + at];
            labels[coupling_.label(p)] = step.y;
            at = step.parent;
        }
    }

    double upper_bound() const { return std::min(dropped_, rest_[0]); }

  private:
    struct Step {
        std::uint32_t parent;
        std::int8_t y;
    };
    struct Candidate {
        double log_prob;
        Step step;
        // Ties go to the earlier parent and to 0, so that the result is the same everywhere.
        bool operator<(const Candidate& other) const {
            if (log_prob != other.log_prob) return log_prob > other.log_prob;
            if (step.parent != other.step.parent) return step.parent < other.step.parent;
            return step.y < other.step.y;
        }
    };

    double* scores(std::size_t slot) { return pool_.data() + slot * coupling_.stride(); }

    void start(std::size_t row, const std::int8_t* labels) {
        evidence_.load(coupling_, labels);
        slots_.assign(1, 0);
        log_prob_.assign(1, 0.0);
        free_.clear();
        for (std::size_t slot = width_; slot-- > 1;) free_.push_back(static_cast<std::uint32_t>(slot));
        coupling_.load(row, scores(0));
        dropped_ = -std::numeric_limits<double>::infinity();
        interval_bound(scores(0), coupling_.effect(coupling_.length()), intervals_.rise(0), intervals_.fall(0),
                       evidence_, 0, coupling_.length(), most_.data());
        rest_[coupling_.length()] = 0.0;
        for (std::size_t q = coupling_.length(); q-- > 0;) rest_[q] = rest_[q + 1] + most_[q];
    }

    void extend(std::size_t p) {
        for (std::size_t s = 0; s < slots_.size(); ++s) at_[s] = scores(slots_[s])[p];
        log_tails(at_.data(), 0, slots_.size(), tails_.data());
        candidates_.clear();
        for (std::size_t s = 0; s < slots_.size(); ++s)
            for (const int y : {0, 1}) {
                if (evidence_.value[p] >= 0 && evidence_.value[p] != y) continue;
                const double against = (at_[s] > 0.0) == (y == 1) ? 0.0 : std::fabs(at_[s]);
                candidates_.push_back(
                    {log_prob_[s] - tails_[s] - against, {static_cast<std::uint32_t>(s), static_cast<std::int8_t>(y)}});
            }
    }

    void keep_best(std::size_t p) {
        std::sort(candidates_.begin(), candidates_.end());
        if (candidates_.size() <= width_) return;
        dropped_ = std::max(dropped_, candidates_[width_].log_prob + rest_[p + 1]);
        candidates_.resize(width_);
    }

    // The survivors take over the score vectors of their parents.
    void hand_on(std::size_t p) {
        children_.assign(slots_.size(), 0);
        for (const Candidate& c : candidates_) ++children_[c.step.parent];
        for (std::size_t s = 0; s < slots_.size(); ++s)
            if (children_[s] == 0) free_.push_back(slots_[s]);
        next_slots_.clear();
        log_prob_.clear();
        for (std::size_t k = 0; k < candidates_.size(); ++k) {
            const auto [parent, y] = candidates_[k].step;
            history_[p * width_ + k] = candidates_[k].step;
            log_prob_.push_back(candidates_[k].log_prob);
            next_slots_.push_back(slots_[parent]);
            if (!y) continue;
            double* from = scores(slots_[parent]);
            if (children_[parent] == 2) {
                next_slots_.back() = free_.back();
                free_.pop_back();
            }
            add_effect(from, coupling_.effect(p), p + 1, coupling_.length(), scores(next_slots_.back()));
        }
        slots_.swap(next_slots_);
    }

    const Coupling& coupling_;
    const ScoreIntervals& intervals_;
    std::size_t width_;
    threads::Interrupt& interrupt_;
    Evidence evidence_;
    std::vector<double> rest_, most_, pool_, at_, tails_, log_prob_;
    std::vector<Step> history_;
    std::vector<Candidate> candidates_;
    std::vector<std::uint32_t> slots_, next_slots_, free_;
    std::vector<int> children_;
    double dropped_ = 0.0;
};

}  // namespace

void beam(const Chain& chain, std::size_t width, std::int8_t* labels, double* upper_bound, int n_threads,
          threads::Interrupt& interrupt) {
    const Coupling coupling(chain);
    const ScoreIntervals intervals(coupling);
    threads::share_rows(chain.n_rows, n_threads, interrupt, [&] {
        return [&, beam = Beam(coupling, intervals, width, interrupt)](std::size_t i) mutable {
            beam.run(i, labels + i * chain.n_labels);
            beam.store(0, labels + i * chain.n_labels);
            upper_bound[i] = beam.upper_bound();
        };
    });
}

void beam_list(const Chain& chain, std::size_t width, std::size_t n_best, const std::int8_t* known, std::int8_t* labels,
               double* log_prob, double* upper_bound, int n_threads, threads::Interrupt& interrupt) {
    const Coupling coupling(chain);
    const ScoreIntervals intervals(coupling);
    const auto list = [&](Beam& beam, std::size_t i) {
        beam.run(i, known + i * chain.n_labels);
        const std::size_t listed = std::min(n_best, beam.n_survivors());
        std::int8_t* to = labels + i * n_best * chain.n_labels;
        std::fill_n(to + listed * chain.n_labels, (n_best - listed) * chain.n_labels, std::int8_t{-1});
        std::fill_n(log_prob + i * n_best + listed, n_best - listed, -std::numeric_limits<double>::infinity());
        for (std::size_t rank = 0; rank < listed; ++rank) {
            beam.store(rank, to + rank * chain.n_labels);
            log_prob[i * n_best + rank] = beam.log_prob(rank);
        }
        // Survivors that are not listed are no better than the last listed one.
        const double last = log_prob[i * n_best + n_best - 1];
        upper_bound[i] = std::max(beam.upper_bound(), last);
    };
    threads::share_rows(chain.n_rows, n_threads, interrupt, [&] {
        return [&, beam = Beam(coupling, intervals, width, interrupt)](std::size_t i) mutable { list(beam, i); };
    });
}

}  // namespace labelweave::chain
