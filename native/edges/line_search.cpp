#include "edges/line_search.hpp"

#include <algorithm>

namespace labelweave::edges {
namespace {

// The results of an evaluation for eight scores.
struct Response {
    Lanes e, inverse, probability;

    LABELWEAVE_INLINE explicit Response(const Lanes& z) {
        e = exp_nonpositive(-abs(z));
        inverse = 1.0 / (1.0 + e);
        probability = select(z >= 0.0, inverse, e * inverse);
    }
};

}  // namespace

LABELWEAVE_KERNEL void evaluate_line(const TargetRows& rows, const double* score, const double* change, double alpha,
                                     double* residual, double* curvature, LineDerivatives& sums) {
    Lanes slope{}, bend{};
    for (std::size_t i = 0; i < rows.size(); i += kLanes) {
        const Lanes u = load(change + i), w = load(rows.weight.data() + i);
        const Response at(load(score + i) + alpha * u);
        const Lanes r = w * (at.probability - load(rows.target.data() + i)), c = w * at.e * at.inverse * at.inverse;
        store(residual + i, r);
        store(curvature + i, c);
        slope += r * u;
        bend += c * u * u;
    }
    sums = {sum(slope), sum(bend)};
}

LABELWEAVE_KERNEL double log_likelihood(const TargetRows& rows, const double* score, double* residual) {
    Lanes total{};
    for (std::size_t i = 0; i < rows.size(); i += kLanes) {
        const Lanes z = load(score + i), w = load(rows.weight.data() + i), t = load(rows.target.data() + i);
        const Response at(z);
        const Lanes r = w * (at.probability - t);
        total += w * (t * z - select(z > 0.0, z, Lanes{}) - log1p_unit(at.e));
        store(residual + i, r);
    }
    return sum(total);
}

}  // namespace labelweave::edges
