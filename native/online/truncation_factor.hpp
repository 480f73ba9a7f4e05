// What one row tells about its labels' scores and about the bias: expectation propagation over the bias and the
// truncations d > margin, eight labels at a time (MATH: section 4 of the design, after TrueSkill).
#pragma once

#include "online/truncated_normal.hpp"

namespace labelweave::online {

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

LABELWEAVE_INLINE Lanes within_reach(const Lanes& t) {
    return select(t < -kFarthest, broadcast(-kFarthest), select(t > kFarthest, broadcast(kFarthest), t));
}

// The same with the label recorded wrongly at probability `flip`: a mixture of d > margin and d < -margin, both given
// in standard deviations. Scores between the margins belong to neither reading, so that a model that knows nothing
// believes its labels whatever the margin: were all of d < margin a wrong label, it would believe none of them.
LABELWEAVE_INLINE Truncation truncate_noisy(const Lanes& d, const Lanes& margin, double flip) {
    const Truncation right = truncate(within_reach(d - margin)), wrong = truncate(within_reach(-d - margin));
    // Weights of the two readings by Phi = phi / V, relative to the larger of the densities at the two margins, whose
    // ratio is exp(2 d margin): nothing overflows. On the side away from d, V is at least sqrt(2 / pi), so that never
    // both weights vanish.
    const Lanes one = 1.0, farther = exp_nonpositive(-2.0 * abs(d * margin));
    const Lanes right_odds = (1.0 - flip) * wrong.shift * select(d < 0.0, farther, one);
    const Lanes wrong_odds = flip * right.shift * select(d > 0.0, farther, one);
    const Lanes inverse = 1.0 / (right_odds + wrong_odds);
    const Lanes as_right = right_odds * inverse, as_wrong = wrong_odds * inverse;
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
    const Truncation cut = flip > 0.0 ? truncate_noisy(d * inverse, ask.margin * inverse, flip)
                                      : truncate(within_reach((d - ask.margin) * inverse));
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

}  // namespace labelweave::online
