// Reciprocals as sums of exponentials: 1/a = Σ_n weight_n e^(-a rate_n) for every a in [1, largest].
#pragma once

#include <cstddef>
#include <vector>

namespace labelweave::decision {

struct ReciprocalRule {
    // The relative error is at most 4e-15 while `largest` is at most 2^16; weights are positive.
    explicit ReciprocalRule(std::size_t largest);

    std::size_t size() const { return rates.size(); }

    std::vector<double> rates, weights;
};

}  // namespace labelweave::decision
