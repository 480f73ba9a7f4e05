#include "online/truncation_moments.hpp"

#include <algorithm>

#include "online/truncation_factor.hpp"

namespace labelweave::online {

LABELWEAVE_KERNEL void truncation_moments(const double* d, const double* margin, std::size_t n, double flip,
                                          double* shift, double* kept) {
    for (std::size_t first = 0; first < n; first += kLanes) {
        const std::size_t size = std::min<std::size_t>(kLanes, n - first);
        double values[kLanes] = {}, margins[kLanes] = {}, moved[kLanes], left[kLanes];
        std::copy_n(d + first, size, values);
        std::copy_n(margin + first, size, margins);
        const Lanes zero{}, one = broadcast(1.0);
        const TruncationFactor factor{load(values), one, one, load(margins), one};
        const MomentUpdate matched = match_moments(factor, zero, zero, flip);
        store(moved, matched.gradient);
        store(left, matched.kept);
        std::copy_n(moved, size, shift + first);
        std::copy_n(left, size, kept + first);
    }
}

}  // namespace labelweave::online
