#include "tree/k_best.hpp"

#include <vector>

#include "threads/share_rows.hpp"
#include "tree/k_best_list.hpp"

namespace labelweave::tree {
namespace {

// Steps between two looks for Ctrl-C.
constexpr std::size_t kPatience = 1024;

// The list of a single forest.
class TopRow {
  public:
    TopRow(const Tree& tree, const KBestPlan& plan, threads::Interrupt& interrupt)
        : tree_(tree), interrupt_(interrupt), logs_(tree.n_labels), list_(plan) {}

    void run(std::size_t row, const RankedVectors& out) {
        const std::size_t n = tree_.n_labels;
        labels_.clear();
        log_prob_.clear();
        logs_.load_logs(tree_, row);
        list_.start(logs_);
        do {
            if (list_.depth() % kPatience == 0) interrupt_.check();
            labels_.resize(labels_.size() + n);
            std::int8_t* vector = labels_.data() + labels_.size() - n;
            list_.write(vector);
            log_prob_.push_back(vector_log_prob(logs_.row(), tree_.parents, vector, n));
        } while (list_.depth() < out.n_best && list_.advance());
        ranking_.write(labels_, log_prob_, n, out, row);  // rounding may order equals in another way
    }

  private:
    const Tree& tree_;
    threads::Interrupt& interrupt_;
    Factors logs_;
    KBestList list_;
    Ranking ranking_;
    std::vector<std::int8_t> labels_;
    std::vector<double> log_prob_;
};

}  // namespace

void top(const Tree& tree, const RankedVectors& out, int n_threads, threads::Interrupt& interrupt) {
    const KBestPlan plan(tree);
    threads::share_rows(tree.n_rows, n_threads, interrupt, [&] {
        return [&, top = TopRow(tree, plan, interrupt)](std::size_t row) mutable { top.run(row, out); };
    });
}

}  // namespace labelweave::tree
