// The problems that lanes take one after the other. Problems that probably take longest come first, so that no lane is
// left with a long one at the end.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <vector>

#include "logistic/solver.hpp"

namespace labelweave::logistic {

class ProblemQueue {
  public:
    explicit ProblemQueue(const Problems& problems) : order_(problems.n_problems) {
        std::vector<std::size_t> rarer(problems.n_problems);
        for (std::size_t k = 0; k < rarer.size(); ++k) rarer[k] = rarer_class(problems, problems.target[k]);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(),
                         [&](std::size_t a, std::size_t b) { return rarer[a] > rarer[b]; });
    }

    // The next problem, or n_problems where there is none left.
    std::size_t take() {
        const std::size_t at = next_.fetch_add(1);
        return at < order_.size() ? order_[at] : order_.size();
    }

  private:
    // The number of rows in the rarer class of a target; problems with fewer rows are solved sooner.
    static std::size_t rarer_class(const Problems& problems, std::int32_t target) {
        const std::size_t n_rows = problems.design.n_rows;
        if (static_cast<std::size_t>(target) >= problems.targets.n_labels) return n_rows;  // neither class is rare
        const std::int8_t* labels = problems.targets.labels + target * n_rows;
        const auto n_positive = static_cast<std::size_t>(std::count(labels, labels + n_rows, std::int8_t{1}));
        return std::min(n_positive, n_rows - n_positive);
    }

    std::vector<std::size_t> order_;
    std::atomic<std::size_t> next_{0};
};

}  // namespace labelweave::logistic
