// The factor [d > margin] of a label in one row, d = +-(f - b), and its messages in expectation propagation, eight
// labels at a time (math.md, 4, after TrueSkill): moments of the tilted distribution are matched, and the posterior
// of the bias divided by its cavity is the message to it.
#pragma once

#include "online/truncated_normal.hpp"

namespace labelweave::online {

// |t| = |mean of d - margin| / sd is cut off here.
constexpr double kFarthest = 1e7;
// The variance of the noisy score is at least this, so that messages stay finite.
constexpr double kSmallestVariance = 1e-12;

// The factors of eight labels with the message f ~ N(mean, variance) that reaches them from their scores: sign is +1
// where the label is relevant and -1 where it is not, known is 1 or 0.
struct TruncationFactor {
    Lanes mean, variance;
    Lanes sign, margin, known;
};

// Moment matching by the derivatives of log Z, the normaliser of the tilted distribution, in the mean of the score:
// gradient = d log Z and curvature = -d^2 log Z. The mean of a score moves by variance * gradient, that of the bias by
// minus as much; both variances shrink by variance^2 * curvature. `kept` is 1 - curvature * (variance of d).
struct MomentUpdate {
    Lanes gradient, curvature, kept;
};

LABELWEAVE_INLINE Lanes within_reach(const Lanes& t) {
    return select(t < -kFarthest, broadcast(-kFarthest), select(t > kFarthest, broadcast(kFarthest), t));
}

// Truncation where the label is recorded wrongly with probability `flip`: a mixture of d > margin and d < -margin, both
// given in standard deviations. Scores between the margins belong to neither case, so that a model without knowledge
// trusts its labels for any margin; if all of d < margin meant a wrong label, it would trust none of them.
LABELWEAVE_INLINE Truncation truncate_noisy(const Lanes& d, const Lanes& margin, double flip) {
    const Truncation right = truncate(within_reach(d - margin)), wrong = truncate(within_reach(-d - margin));
    // Weights of the two readings by Phi = phi / V, relative to the larger of the densities at the two margins, whose
    // ratio is exp(2 d margin): nothing overflows. On the side away from d, V is at least sqrt(2 / pi), so that never
    // both weights vanish.
    const Lanes one = 1.0, farther = exp_nonpositive(-2.0 * abs(d * margin));
    const Lanes right_odds = (1.0 - flip) * wrong.v * select(d < 0.0, farther, one);
    const Lanes wrong_odds = flip * right.v * select(d > 0.0, farther, one);
    const Lanes inverse = 1.0 / (right_odds + wrong_odds);
    const Lanes as_right = right_odds * inverse, as_wrong = wrong_odds * inverse;
    Truncation both;
    both.v = as_right * right.v - as_wrong * wrong.v;
    // Variance within the two readings and between them; it may exceed the one before.
    const Lanes apart = right.v + wrong.v;
    both.kept = as_right * right.kept + as_wrong * wrong.kept + as_right * as_wrong * apart * apart;
    both.w = 1.0 - both.kept;
    return both;
}

// Given the cavity of the bias, N(cavity_mean, cavity_variance).
LABELWEAVE_INLINE MomentUpdate match_moments(const TruncationFactor& factor, const Lanes& cavity_mean,
                                             const Lanes& cavity_variance, double flip) {
    const Lanes total = factor.variance + cavity_variance;
    const Lanes inverse = 1.0 / square_root(total);
    const Lanes d = factor.sign * (factor.mean - cavity_mean);
    const Truncation cut = flip > 0.0 ? truncate_noisy(d * inverse, factor.margin * inverse, flip)
                                      : truncate(within_reach((d - factor.margin) * inverse));
    return {factor.sign * factor.known * cut.v * inverse, factor.known * cut.w * inverse * inverse,
            select(factor.known > 0.0, cut.kept, broadcast(1.0))};
}

// A Gaussian message in natural parameters: precision, and precision times mean.
struct Message {
    Lanes precision, weighted_mean;
};

// The matched posterior of the bias divided by its cavity. A negative precision, which only wrongly recorded labels can
// lead to, is cut off at zero.
LABELWEAVE_INLINE Message message_to_bias(const TruncationFactor& factor, const MomentUpdate& matched,
                                          const Lanes& cavity_mean, const Lanes& cavity_variance) {
    const Lanes w = 1.0 - matched.kept;
    const Lanes positive = select(w > 0.0, w, broadcast(0.0));
    const Lanes precision = positive / (factor.variance + cavity_variance * (1.0 - positive));
    return {precision, precision * cavity_mean - matched.gradient * (1.0 + cavity_variance * precision)};
}

}  // namespace labelweave::online
