#include "edges.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <numeric>
#include <vector>

#include "curvature.hpp"
#include "line.hpp"
#include "parallel.hpp"
#include "products.hpp"

namespace labelweave {
namespace {

using Vector = std::vector<double>;

// A line search ends where the slope has shrunk to this share: conjugate gradients want it good, not exact.
constexpr double kFlat = 0.05;
constexpr int kMostEvaluations = 12, kMostAttempts = 8;
constexpr double kLeastCurvature = 1e-290;
// A weight that turned out smaller than expected will be smaller still once the fit is better.
constexpr double kCaution = 0.2;
// Rows that are predicted better than this, in nats, need not be weighed to a share of their weight.
constexpr double kLeastLoss = 1e-4;
constexpr std::int32_t kNoParent = -1;

void add_scaled(std::size_t n, double a, const double* x, double* y) {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

// Rows of one label, with their weights.
void fill_rows(std::size_t n, const std::int8_t* labels, const double* weights, TargetRows& rows) {
    rows.target.assign(padded(n), 0.0);
    rows.weight.assign(padded(n), 0.0);
    std::copy_n(labels, n, rows.target.begin());
    std::copy_n(weights, n, rows.weight.begin());
}

// A target at its solution without a parent, or near it: what the fits of all its candidates start from.
struct Base {
    TargetRows train, held;
    double penalty = 0, parent_penalty = 0;
    double weight = 0, held_mass = 0;  // held-out log-likelihood; sum of its residuals' sizes
    double floor = 0;             // a weight this small need not be known better
    Vector coef, score, residual, curvature;                     // of the training rows
    Vector gradient, newton, newton_score;                       // gradient, M^-1 gradient, and its scores
    Vector held_score, held_residual, held_gradient, held_solved;  // of the held-out log-likelihood
    double newton_square = 0, held_square = 0;                   // gradients' squared norms in M^-1
};

enum class Phase { idle, bordering, first, iterating };

// One fit in progress: target given one parent, at (coef, v).
struct Fit {
    Phase phase = Phase::idle;
    std::int32_t parent = kNoParent;
    int iteration = 0, attempt = 0;
    double v = 0, v_gradient = 0, v_old = 0, v_direction = 0;
    double border = 0;  // curvature of the direction (-U, 1): what is left of the parent's column
    double held_norm = 0, rho = 0, slope = 0;  // norms of the two gradients; of the line
    double weight = 0;                         // what its error is measured by
    double size = 0, least = 1;                // of the direction in M's norm; least curvature seen, in units of M's
    Vector coef, gradient, old_gradient, direction, solved, border_solved;  // over the columns
    Vector column, score, change, residual, curvature;                      // over the training rows

};

// A fit that has ended and waits to be weighed.
struct Finished {
    std::int32_t parent = kNoParent;
    int attempt = 0;
    double v = 0, bound = 0;
    bool converged = false;
    Vector coef, score;
};

struct Waiting {
    std::int32_t parent;
    int attempt;
    double weight;  // what the fit's accuracy is measured by
};

// Everything one thread needs to weigh the edges into one target after the other.
class Weigher {
  public:
    Weigher(const EdgeProblems& problems, const EdgeSettings& settings, const EdgeWeights& weights)
        : p_(problems), settings_(settings), out_(weights), train_(problems.train), held_(problems.held),
          factor_(problems.train), n_(problems.train.n_rows), width_(problems.train.width()) {
        for (Fit& fit : fits_) {
            for (Vector* v : {&fit.coef, &fit.gradient, &fit.old_gradient, &fit.direction, &fit.solved, &fit.border_solved})
                v->resize(padded(width_));
            for (Vector* v : {&fit.column, &fit.score, &fit.change, &fit.residual, &fit.curvature}) v->resize(padded(n_));
        }
        for (Vector* v : {&base_.coef, &base_.gradient, &base_.newton, &base_.held_gradient, &base_.held_solved})
            v->resize(padded(width_));
        for (Vector* v : {&base_.score, &base_.residual, &base_.curvature, &base_.newton_score}) v->resize(padded(n_));
        for (Vector* v : {&base_.held_score, &base_.held_residual}) v->resize(padded(p_.held.n_rows));
    }

    void weigh(std::size_t target, Interrupt& interrupt) {
        target_ = target;
        fill_rows(n_, p_.train_labels + target * n_, p_.train_weights, base_.train);
        fill_rows(p_.held.n_rows, p_.held_labels + target * p_.held.n_rows, p_.held_weights, base_.held);
        base_.floor = kLeastLoss * std::accumulate(base_.held.weight.begin(), base_.held.weight.end(), 0.0);
        base_.penalty = 1.0 / p_.C[target];
        base_.parent_penalty = p_.label_penalty[target] / p_.C[target];
        out_.n_failed[target] = 0;
        std::copy_n(p_.start + target * width_, width_, base_.coef.begin());
        settle(true);
        waiting_ = {{kNoParent, 0, std::fabs(base_.weight)}};
        run(interrupt);  // leaves the better solution in base_.coef
        settle(false);
        out_.alone[target] = base_.weight;
        for (std::size_t j = 0; j < p_.n_labels; ++j)
            if (p_.candidates[target * p_.n_labels + j]) waiting_.push_back({static_cast<std::int32_t>(j), 0, std::fabs(base_.weight)});
        run(interrupt);
    }

  private:
    // Everything that follows from base_.coef.
    void settle(bool factorise) {
        Base& b = base_;
        forward(train_, b.coef, b.score);
        LineSums sums;
        evaluate_line(b.train, b.score.data(), b.score.data(), 0.0, b.residual.data(), b.curvature.data(), sums);
        if (factorise) factor_.make(b.curvature.data(), b.penalty);
        backward(train_, b.residual, b.gradient);
        add_scaled(width_ - 1, b.penalty, b.coef.data(), b.gradient.data());
        forward(held_, b.coef, b.held_score);
        b.weight = log_likelihood(b.held, b.held_score.data(), b.held_residual.data(), b.held_mass);
        backward(held_, b.held_residual, b.held_gradient);
        const double* r[] = {b.gradient.data(), b.held_gradient.data()};
        double* x[] = {b.newton.data(), b.held_solved.data()};
        factor_.solve(2, r, x);
        b.newton_square = dot(width_, b.gradient.data(), b.newton.data());
        b.held_square = dot(width_, b.held_gradient.data(), b.held_solved.data());
        forward(train_, b.newton, b.newton_score);
    }

    static void forward(Products& products, const Vector& v, Vector& u) {
        const double* from = v.data();
        double* to = u.data();
        products.forward(1, &from, &to);
    }
    static void backward(Products& products, const Vector& r, Vector& g) {
        const double* from = r.data();
        double* to = g.data();
        products.backward(1, &from, &to);
    }

    // Eight fits side by side, until none is waiting.
    void run(Interrupt& interrupt) {
        while (true) {
            interrupt.check();
            active_.clear();
            for (Fit& fit : fits_) {
                if (fit.phase == Phase::idle && !waiting_.empty()) begin(fit);
                if (fit.phase != Phase::idle) active_.push_back(&fit);
            }
            if (active_.empty()) {
                weigh_finished();
                if (waiting_.empty()) return;
                continue;
            }
            advance();
            for (Fit* fit : active_) judge(*fit);
        }
    }

    void begin(Fit& fit) {
        const Waiting next = waiting_.front();
        waiting_.pop_front();
        fit.phase = Phase::bordering;
        fit.parent = next.parent;
        fit.attempt = next.attempt;
        fit.weight = next.weight;
        fit.iteration = 0;
        fit.least = 1;
        fit.v = fit.v_direction = 0;
        fit.coef = base_.coef;
        fit.score = base_.score;
        fit.residual = base_.residual;
        fit.curvature = base_.curvature;
        fit.gradient = base_.gradient;
        std::fill(fit.column.begin(), fit.column.end(), 0.0);
        if (fit.parent != kNoParent) std::copy_n(p_.train_labels + fit.parent * n_, n_, fit.column.begin());
        fit.v_gradient = dot(n_, fit.column.data(), fit.residual.data());
    }

    // One round: products of all active fits together, their line searches in between.
    void advance() {
        const double* in[kLanes];
        double* out[kLanes];
        int n = 0;
        for (Fit* fit : active_)
            if (fit->phase != Phase::bordering) {
                in[n] = fit->phase == Phase::first ? fit->border_solved.data() : fit->direction.data();
                out[n++] = fit->change.data();
            }
        if (n) train_.forward(n, in, out);
        n = 0;
        for (Fit* fit : active_) {
            respond(*fit);
            in[n] = fit->phase == Phase::bordering ? fit->change.data() : fit->residual.data();
            out[n++] = fit->phase == Phase::bordering ? fit->direction.data() : fit->gradient.data();
        }
        train_.backward(n, in, out);
        for (int k = 0; k < n; ++k) {
            Fit& fit = *active_[k];
            in[k] = out[k];
            out[k] = fit.phase == Phase::bordering ? fit.border_solved.data() : fit.solved.data();
            if (fit.phase == Phase::iterating) add_scaled(width_ - 1, base_.penalty, fit.coef.data(), fit.gradient.data());
        }
        factor_.solve(n, in, out);
    }

    // Between the products: what goes into the backward one.
    void respond(Fit& fit) {
        if (fit.phase == Phase::bordering) {  // the coupling A'Dy of the parent's column with the others
            for (std::size_t i = 0; i < n_; ++i) fit.change[i] = base_.curvature[i] * fit.column[i];
            return;
        }
        if (fit.phase == Phase::first) {
            take_border(fit);
            fit.phase = Phase::iterating;
        } else {
            add_scaled(n_, fit.v_direction, fit.column.data(), fit.change.data());
        }
        std::swap(fit.gradient, fit.old_gradient);
        fit.v_old = fit.v_gradient;
        search_line(fit);
    }

    // With U = M^-1 A'Dy at hand (and its scores in fit.change): the direction of the bordered Newton step.
    void take_border(Fit& fit) {
        const double* U = fit.border_solved.data();
        for (std::size_t i = 0; i < n_; ++i) fit.change[i] = fit.column[i] - fit.change[i];
        fit.border = weighted_square(n_, base_.curvature.data(), fit.change.data()) +
                     base_.penalty * dot(width_ - 1, U, U) + base_.parent_penalty;
        fit.border = std::max(fit.border, kLeastCurvature);
        double held_slope = 0;
        if (fit.parent != kNoParent) {
            const std::int8_t* labels = p_.held_labels + fit.parent * p_.held.n_rows;
            for (std::size_t i = 0; i < p_.held.n_rows; ++i) held_slope += labels[i] * base_.held_residual[i];
        }
        held_slope -= dot(width_, U, base_.held_gradient.data());
        fit.held_norm = std::sqrt(std::max(base_.held_square + held_slope * held_slope / fit.border, 0.0));
        const double rest = fit.v_gradient - dot(width_, U, fit.gradient.data()), step = rest / fit.border;
        fit.rho = base_.newton_square + rest * step;
        fit.slope = -fit.rho;
        fit.size = fit.rho;
        fit.v_direction = -step;
        for (std::size_t f = 0; f < width_; ++f) fit.direction[f] = U[f] * step - base_.newton[f];
        for (std::size_t i = 0; i < n_; ++i) fit.change[i] = -base_.newton_score[i] - step * fit.change[i];
    }

    // Go along the direction to where the loss is least, by Newton steps kept between the ends known.
    void search_line(Fit& fit) {
        const double lambda = base_.penalty, kappa = base_.parent_penalty;
        const double tilt = lambda * dot(width_ - 1, fit.coef.data(), fit.direction.data()) + kappa * fit.v * fit.v_direction;
        const double bend = lambda * dot(width_ - 1, fit.direction.data(), fit.direction.data()) +
                            kappa * fit.v_direction * fit.v_direction;
        double slope = fit.slope, curvature = weighted_square(n_, fit.curvature.data(), fit.change.data()) + bend;
        double low = 0, high = 0, alpha = 0;
        for (int k = 0; k < kMostEvaluations; ++k) {
            double next = alpha - slope / curvature;
            if (high > 0 && !(next > low && next < high)) next = 0.5 * (low + high);
            if (!(next > 0) || !std::isfinite(next)) break;
            alpha = next;
            LineSums sums;
            evaluate_line(base_.train, fit.score.data(), fit.change.data(), alpha, fit.residual.data(),
                          fit.curvature.data(), sums);
            slope = sums.slope + tilt + alpha * bend;
            curvature = sums.curvature + bend;
            if (std::fabs(slope) <= kFlat * std::fabs(fit.slope)) break;
            (slope < 0 ? low : high) = alpha;
        }
        fit.slope = slope;
        if (curvature < fit.least * fit.size) fit.least = curvature / fit.size;
        add_scaled(n_, alpha, fit.change.data(), fit.score.data());
        add_scaled(width_, alpha, fit.direction.data(), fit.coef.data());
        fit.v += alpha * fit.v_direction;
    }

    // Error of the weight to first order: |h' H^-1 g| <= |h| |g| in the norm of H^-1, with the held-out gradient
    // h of the start, and with M for H, which may be smaller: by how much is seen on the way.
    double bound(const Fit& fit) const {
        return fit.held_norm * std::sqrt(std::max(fit.rho, 0.0)) / fit.least;
    }

    // After a round: whether a fit is good enough, or where it goes next.
    void judge(Fit& fit) {
        if (fit.phase == Phase::bordering) {
            fit.phase = Phase::first;
            return;
        }
        ++fit.iteration;
        const double* U = fit.border_solved.data();
        fit.v_gradient = dot(n_, fit.column.data(), fit.residual.data()) + base_.parent_penalty * fit.v;
        const double v_solved = (fit.v_gradient - dot(width_, U, fit.gradient.data())) / fit.border;
        add_scaled(width_, -v_solved, U, fit.solved.data());
        const double rho = dot(width_, fit.gradient.data(), fit.solved.data()) + fit.v_gradient * v_solved;
        const double kept = dot(width_, fit.old_gradient.data(), fit.solved.data()) + fit.v_old * v_solved;
        const double beta = std::max(0.0, (rho - kept) / fit.rho);  // Polak and Ribiere's
        fit.rho = rho;
        const bool converged = bound(fit) <= settings_.tolerance * std::max(fit.weight, base_.floor);
        if (converged || !std::isfinite(rho) || !(rho > 0) || fit.iteration >= settings_.max_iterations) {
            finish(fit, converged);
            return;
        }
        turn(fit, std::isfinite(beta) ? beta : 0.0, v_solved);
    }

    void turn(Fit& fit, double beta, double v_solved) {
        for (std::size_t f = 0; f < width_; ++f) fit.direction[f] = beta * fit.direction[f] - fit.solved[f];
        fit.v_direction = beta * fit.v_direction - v_solved;
        fit.size = fit.rho - 2 * beta * fit.slope + beta * beta * fit.size;
        fit.slope = dot(width_, fit.gradient.data(), fit.direction.data()) + fit.v_gradient * fit.v_direction;
        if (!(fit.slope < 0) && beta > 0) {
            // No descent: start anew from the gradient.
            for (std::size_t f = 0; f < width_; ++f) fit.direction[f] = -fit.solved[f];
            fit.v_direction = -v_solved;
            fit.slope = -fit.rho;
            fit.size = fit.rho;
        }
    }

    void finish(Fit& fit, bool converged) {
        fit.phase = Phase::idle;
        if (fit.parent == kNoParent) {
            base_.coef = fit.coef;
            if (!converged) ++out_.n_failed[target_];
            return;
        }
        Finished& done = finished_[n_finished_++];
        done.parent = fit.parent;
        done.attempt = fit.attempt;
        done.v = fit.v;
        done.bound = bound(fit);
        done.converged = converged;
        done.coef = fit.coef;
        done.score.resize(padded(p_.held.n_rows));
        if (n_finished_ == kLanes) weigh_finished();
    }

    // Score the held-out rows. A fit whose weight turns out smaller than was expected has to be better.
    void weigh_finished() {
        const double* in[kLanes];
        double* out[kLanes];
        for (int k = 0; k < n_finished_; ++k) {
            in[k] = finished_[k].coef.data();
            out[k] = finished_[k].score.data();
        }
        held_.forward(n_finished_, in, out);
        for (int k = 0; k < n_finished_; ++k) {
            Finished& done = finished_[k];
            const std::int8_t* labels = p_.held_labels + done.parent * p_.held.n_rows;
            for (std::size_t i = 0; i < p_.held.n_rows; ++i) done.score[i] += done.v * labels[i];
            double mass = 0;
            const double weight = log_likelihood(base_.held, done.score.data(), done.score.data(), mass);
            out_.pair[target_ * p_.n_labels + done.parent] = weight;
            // The held-out gradient has become smaller or larger with its residuals.
            const double size = std::max(std::fabs(weight), base_.floor) * base_.held_mass / mass;
            const bool good = done.bound <= settings_.tolerance * size;
            if (!good && done.converged && done.attempt + 1 < kMostAttempts)
                waiting_.push_back({done.parent, done.attempt + 1, kCaution * size});
            else if (!good)
                ++out_.n_failed[target_];
        }
        n_finished_ = 0;
    }

    const EdgeProblems& p_;
    const EdgeSettings& settings_;
    const EdgeWeights& out_;
    Products train_, held_;
    CurvatureFactor factor_;
    std::size_t n_, width_, target_ = 0;
    Base base_;
    Fit fits_[kLanes];
    std::vector<Fit*> active_;
    std::deque<Waiting> waiting_;
    Finished finished_[kLanes];
    int n_finished_ = 0;
};

void prepare(Design& design, OwnedCsr& columns) {
    if (design.dense) return;
    design.sparse = without_unit_values(design.sparse, design.n_rows);
    columns = transpose(design.sparse, design.n_rows, design.n_features);
    design.sparse_columns = columns.view();
}

}  // namespace

void weigh_edges(EdgeProblems problems, const EdgeSettings& settings, const EdgeWeights& weights, Interrupt& interrupt) {
    OwnedCsr train_columns, held_columns;
    prepare(problems.train, train_columns);
    prepare(problems.held, held_columns);
    std::atomic<std::size_t> queue{0};
    const int n_threads = resolve_threads(settings.n_threads);
    parallel_for(std::min<std::size_t>(n_threads, problems.n_labels), n_threads, [&](std::size_t) {
        interrupt.run([&] {
            Weigher weigher(problems, settings, weights);
            for (std::size_t target; (target = queue.fetch_add(1)) < problems.n_labels;)
                if (problems.targets[target]) weigher.weigh(target, interrupt);
        });
    });
}

}  // namespace labelweave
