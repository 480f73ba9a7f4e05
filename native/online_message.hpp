// What one row tells about its labels' scores and about the bias: expectation propagation over the bias and the
// truncations d > margin, eight labels at a time (MATH: section 4 of the design, after TrueSkill).
#pragma once

#include "truncation.hpp"

namespace labelweave {

// Beyond this many standard deviations from the margin a row counts as that far.
constexpr double kFarthest = 1e7;
// Noise variance below which a score counts as that uncertain: a message stays finite.
constexpr double kSmallestVariance = 1e-12;

// One row's question to eight labels: sign +1 where the label is relevant and -1 where not, known 1 or 0.
struct Question {
    Lanes mean, variance;  // of the noisy score f
    Lanes sign, margin, known;
};

// How a label's score and bias move: their means by variance * pull (the bias's by minus that), their variances by the
// factor 1 - variance * certainty. `kept` is 1 - certainty * (variance of d).
struct Answer {
    Lanes pull, certainty, kept;
};

// The same with the label recorded wrongly at probability `flip`: a mixture of d > margin and d < margin. (The paper has
// d < -margin for the second, the same without a margin; with one, both readings would exclude the scores in between,
// where every model starts.)
LABELWEAVE_INLINE Truncation truncate_noisy(const Lanes& t, double flip) {
    const Truncation right = truncate(t), wrong = truncate(-t);
    // Weights of the two readings, from Phi = phi / V.
    const Lanes as_right_odds = (1.0 - flip) * wrong.shift, as_wrong_odds = flip * right.shift;
    const Lanes as_wrong = as_wrong_odds / (as_right_odds + as_wrong_odds), as_right = 1.0 - as_wrong;
    Truncation both;
    both.shift = as_right * right.shift - as_wrong * wrong.shift;
    // Variance within the two readings and between them; it may exceed the one before.
    const Lanes apart = right.shift + wrong.shift;
    both.kept = as_right * right.kept + as_wrong * wrong.kept + as_right * as_wrong * apart * apart;
    both.shrink = 1.0 - both.kept;
    return both;
}

LABELWEAVE_INLINE Answer answer(const Question& ask, const Lanes& bias, const Lanes& bias_variance, double flip) {
    const Lanes total = ask.variance + bias_variance;
    const Lanes inverse = 1.0 / square_root(total);
    const Lanes d = ask.sign * (ask.mean - bias);
    Lanes t = (d - ask.margin) * inverse;
    t = select(t < -kFarthest, broadcast(-kFarthest), select(t > kFarthest, broadcast(kFarthest), t));
    const Truncation cut = flip > 0.0 ? truncate_noisy(t, flip) : truncate(t);
    return {ask.sign * ask.known * cut.shift * inverse, ask.known * cut.shrink * inverse * inverse,
            select(ask.known > 0.0, cut.kept, broadcast(1.0))};
}

// A message to the bias in natural parameters.
struct BiasMessage {
    Lanes precision, weighted_mean;
};

// Divides the bias's posterior by the cavity it was computed with. A precision below zero, possible with wrongly recorded
// labels only, is cut off.
LABELWEAVE_INLINE BiasMessage to_bias(const Question& ask, const Answer& told, const Lanes& bias,
                                      const Lanes& bias_variance) {
    const Lanes shrink = 1.0 - told.kept;
    const Lanes certain = select(shrink > 0.0, shrink, broadcast(0.0));
    const Lanes precision = certain / (ask.variance + bias_variance * (1.0 - certain));
    return {precision, precision * bias - told.pull * (1.0 + bias_variance * precision)};
}

}  // namespace labelweave
