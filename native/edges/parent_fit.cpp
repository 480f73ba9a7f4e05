#include "edges/parent_fit.hpp"

#include <cmath>

namespace labelweave::edges {
namespace {

// A line search ends where the slope has shrunk to this share: conjugate gradients do not need an exact minimum.
constexpr double kFlat = 0.05;
constexpr int kMostEvaluations = 12;
constexpr double kLeastCurvature = 1e-290;
// If a direction has less than this share of its squared size beside the border, it counts as the border's direction.
constexpr double kParallel = 1e-6;
// Curvature below this share of M's is rounding, and may be negative.
constexpr double kFlattest = 1e-12;

}  // namespace

double weight_error(double held_norm, double rho, double least, double share) {
    rho = std::max(rho, 0.0);
    return (held_norm * std::sqrt(rho) + 0.5 * share * rho / least) / least;
}

double held_slope(std::size_t n, const std::int8_t* labels, const double* residual) {
    double slope = 0;
    for (std::size_t i = 0; labels && i < n; ++i) slope += labels[i] * residual[i];
    return slope;
}

void ParentFit::begin(const PendingFit& next, const std::int8_t* labels) {
    base = next.base;
    phase = Phase::bordering;
    parent = next.parent;
    attempt = next.attempt;
    weight = next.weight;
    held_norm = next.held_norm;
    iteration = 0;
    least = 1;
    v = base->v;
    v_direction = 0;
    coef = base->coef;
    score = base->score;
    residual = base->residual;
    curvature = base->curvature;
    gradient = base->gradient;
    std::fill(column.begin(), column.end(), 0.0);
    if (labels) std::copy_n(labels, n_train, column.begin());
    v_gradient = linalg::dot(n_train, column.data(), residual.data()) + base->parent_penalty * v;
}

void ParentFit::bordered_newton_step(std::size_t n_held, const std::int8_t* held_labels) {
    const BaseFit& from = *base;
    const double* U = border_solved.data();
    for (std::size_t i = 0; i < n_train; ++i) border_score[i] = column[i] - change[i];
    const double penalties = from.penalty * linalg::dot(width - 1, U, U) + from.parent_penalty;
    border = linalg::weighted_square(n_train, from.curvature.data(), border_score.data()) + penalties;
    border = std::max(border, kLeastCurvature);
    const double rest = v_gradient - linalg::dot(width, U, gradient.data()), step = rest / border;
    rho = from.newton_square + rest * step;
    slope = -rho;
    size = rho;
    v_direction = -step;
    for (std::size_t f = 0; f < width; ++f) direction[f] = U[f] * step - from.newton[f];
    for (std::size_t i = 0; i < n_train; ++i) change[i] = -from.newton_score[i] - step * border_score[i];
    if (!(held_norm > 0)) {
        const double along = held_slope(n_held, held_labels, from.held_residual.data());
        const double held_rest = along - linalg::dot(width, U, from.held_gradient.data());
        // The held-out gradient of the start, plus the change by this step.
        const double added = from.share * from.share * rho;
        held_norm = std::sqrt(std::max(from.held_square + held_rest * held_rest / border + added, 0.0));
    }
}

// Newton steps, kept inside the known interval.
void ParentFit::line_search() {
    const double lambda = base->penalty, kappa = base->parent_penalty;
    const double tilt = lambda * linalg::dot(width - 1, coef.data(), direction.data()) + kappa * v * v_direction;
    const double bend =
        lambda * linalg::dot(width - 1, direction.data(), direction.data()) + kappa * v_direction * v_direction;
    double here = slope, along = linalg::weighted_square(n_train, curvature.data(), change.data()) + bend;
    double low = 0, high = 0, alpha = 0;
    for (int k = 0; k < kMostEvaluations; ++k) {
        double next = alpha - here / along;
        if (high > 0 && !(next > low && next < high)) next = 0.5 * (low + high);
        if (!(next > 0) || !std::isfinite(next)) break;
        alpha = next;
        LineDerivatives sums;
        evaluate_line(base->train, score.data(), change.data(), alpha, residual.data(), curvature.data(), sums);
        here = sums.slope + tilt + alpha * bend;
        along = sums.curvature + bend;
        if (std::fabs(here) <= kFlat * std::fabs(slope)) break;
        (here < 0 ? low : high) = alpha;
    }
    if (!(alpha > 0)) return;  // also where a direction is not finite
    slope = here;
    least = std::max(std::min(least, least_curvature(along)), kFlattest);
    linalg::add_scaled(n_train, alpha, change.data(), score.data());
    linalg::add_scaled(width, alpha, direction.data(), coef.data());
    v += alpha * v_direction;
}

double ParentFit::least_curvature(double along) const {
    if (parent == kNoParent) return along / size;
    const double lambda = base->penalty, kappa = base->parent_penalty, part = v_direction;
    const double *U = border_solved.data(), *d = curvature.data();
    const double across =
        linalg::weighted_square(n_train, d, border_score.data()) + lambda * linalg::dot(width - 1, U, U) + kappa;
    const double mixed = linalg::weighted_dot(n_train, d, border_score.data(), change.data()) -
                         lambda * linalg::dot(width - 1, U, direction.data()) + kappa * part;
    // The direction minus its part along the border is orthogonal to the border in M. On these two axes the curvature
    // is a matrix ((first, cross), (cross, second)); compute its least eigenvalue.
    const double other_size = size - part * part * border, first = across / border;
    if (!(other_size > kParallel * size)) return std::min(along / size, first);
    const double second = (along - part * (2 * mixed - part * across)) / other_size;
    const double cross = (mixed - part * across) / std::sqrt(other_size * border);
    return std::min(along / size, 0.5 * (first + second - std::hypot(first - second, 2 * cross)));
}

double ParentFit::precondition_gradient() {
    ++iteration;
    const double* U = border_solved.data();
    v_gradient = linalg::dot(n_train, column.data(), residual.data()) + base->parent_penalty * v;
    v_solved = (v_gradient - linalg::dot(width, U, gradient.data())) / border;
    linalg::add_scaled(width, -v_solved, U, solved.data());
    const double square = linalg::dot(width, gradient.data(), solved.data()) + v_gradient * v_solved;
    const double kept = linalg::dot(width, old_gradient.data(), solved.data()) + v_old * v_solved;
    const double beta = std::max(0.0, (square - kept) / rho);  // Polak and Ribiere's
    rho = square;
    return std::isfinite(beta) ? beta : 0.0;
}

void ParentFit::update_direction(double beta) {
    for (std::size_t f = 0; f < width; ++f) direction[f] = beta * direction[f] - solved[f];
    v_direction = beta * v_direction - v_solved;
    size = rho - 2 * beta * slope + beta * beta * size;
    slope = linalg::dot(width, gradient.data(), direction.data()) + v_gradient * v_direction;
    if (!(slope < 0) && beta > 0) {
        // No descent: start anew from the gradient.
        for (std::size_t f = 0; f < width; ++f) direction[f] = -solved[f];
        v_direction = -v_solved;
        slope = -rho;
        size = rho;
    }
}

}  // namespace labelweave::edges
