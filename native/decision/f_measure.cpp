#include "decision/f_measure.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "simd/lanes.hpp"
#include "threads/share_rows.hpp"

namespace labelweave::decision {
namespace {

using simd::kLanes;
using simd::Lanes;

// A smaller probability is lost in rounding beside the other sizes.
constexpr double kNegligible = 0x1p-60;

// The state of one thread, which decides row after row.
class FMeasure {
  public:
    FMeasure(std::size_t n_labels, double beta)
        : n_labels_(n_labels), n_packs_((n_labels + kLanes - 1) / kLanes), beta2_(beta * beta), shares_(n_labels),
          joint_(n_labels * n_packs_), gains_(n_packs_), order_(n_labels) {}

    void decide(const double* by_label, const double* cardinality, std::int8_t* labels) {
        load(by_label, cardinality);
        std::fill_n(labels, n_labels_, std::int8_t{0});
        double best = kBetter * cardinality[0];  // the empty prediction is correct if no label is true
        for (std::size_t k = 1; k <= n_labels_; ++k) {
            if (bound(k) <= best) {
                // From the largest size on the bound falls with k.
                if (sizes_.empty() || k >= sizes_.back().size) break;
                continue;
            }
            const double expected = select(k);
            if (expected <= best) continue;
            best = kBetter * expected;
            std::fill_n(labels, n_labels_, std::int8_t{0});
            for (std::size_t r = 0; r < k; ++r) labels[order_[r]] = 1;
        }
    }

  private:
    struct Size {
        std::size_t size;
        double probability;
    };

    // Keep the sizes that occur, each with its probabilities of the labels side by side.
    void load(const double* by_label, const double* cardinality) {
        sizes_.clear();
        sorted_ = false;
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        for (std::size_t s = 1; s <= n_labels_; ++s)
            if (cardinality[s] > kNegligible) sizes_.push_back({s, cardinality[s]});
        for (std::size_t j = 0; j < n_labels_; ++j)
            for (std::size_t t = 0; t < sizes_.size(); ++t)
                joint_.numbers()[t * n_packs_ * kLanes + j] = by_label[j * (n_labels_ + 1) + sizes_[t].size];
    }

    double share(const Size& s, std::size_t k) const {
        return (1.0 + beta2_) / (beta2_ * static_cast<double>(s.size) + static_cast<double>(k));
    }

    // A bound on k labels: as many of them as possible are correct for every size. A small term covers rounding.
    double bound(std::size_t k) const {
        double total = 0.0;
        for (const Size& s : sizes_) total += s.probability * share(s, k) * static_cast<double>(std::min(s.size, k));
        return total * (1.0 + 1e-12);
    }

    // Put the k labels with the largest gains first in `order_`; return their expected F-measure.
    double select(std::size_t k) {
        for (std::size_t t = 0; t < sizes_.size(); ++t) shares_[t] = share(sizes_[t], k);
        for (std::size_t p = 0; p < n_packs_; ++p) {
            Lanes total = Lanes::zero();
            for (std::size_t t = 0; t < sizes_.size(); ++t) total += joint_.at(t * n_packs_ + p) * shares_[t];
            gains_.put(p, total);
        }
        sort();
        double expected = 0.0;
        for (std::size_t r = 0; r < k; ++r) expected += gains_.numbers()[order_[r]];
        return expected;
    }

    // Order the labels by their gains, the first ones among equals. Gains change little from one k to the next, so that
    // labels which are in order for the last k are soon in order again.
    void sort() {
        const double* gain = gains_.numbers();
        const auto comes_first = [gain](std::size_t a, std::size_t b) {
            return gain[a] > gain[b] || (gain[a] == gain[b] && a < b);
        };
        if (!sorted_) std::sort(order_.begin(), order_.end(), comes_first);
        for (std::size_t r = 1; sorted_ && r < n_labels_; ++r) {
            const std::size_t label = order_[r];
            std::size_t to = r;
            for (; to > 0 && comes_first(label, order_[to - 1]); --to) order_[to] = order_[to - 1];
            order_[to] = label;
        }
        sorted_ = true;
    }

    std::size_t n_labels_, n_packs_;
    double beta2_;
    std::vector<Size> sizes_;
    std::vector<double> shares_;  // of each size, for the last k
    simd::LaneArray joint_;       // sizes x labels
    simd::LaneArray gains_;
    std::vector<std::size_t> order_;
    bool sorted_ = false;  // whether the order is that of an earlier k
};

}  // namespace

void best_f_measure(const double* by_label, const double* cardinality, std::size_t n_rows, std::size_t n_labels,
                    double beta, std::int8_t* labels, int n_threads, threads::Interrupt& interrupt) {
    threads::share_rows(n_rows, n_threads, interrupt, [&] {
        return [&, worker = FMeasure(n_labels, beta)](std::size_t row) mutable {
            worker.decide(by_label + row * n_labels * (n_labels + 1), cardinality + row * (n_labels + 1),
                          labels + row * n_labels);
        };
    });
}

}  // namespace labelweave::decision
