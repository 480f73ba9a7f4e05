#include "edges.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <numeric>
#include <vector>

#include "edge_fit.hpp"
#include "parallel.hpp"

namespace labelweave {
namespace {

// Targets that a thread works on at a time.
constexpr std::size_t kGroup = 4;
// A line search ends where the slope has shrunk to this share: conjugate gradients want it good, not exact.
constexpr double kFlat = 0.05;
constexpr int kMostEvaluations = 12, kMostAttempts = 8;
constexpr double kLeastCurvature = 1e-290;
// A weight that turned out smaller than expected will be smaller still once the fit is better.
constexpr double kCaution = 0.2;
// Rows that are predicted better than this, in nats, need not be weighed to a share of their weight.
constexpr double kLeastLoss = 1e-4;

// Everything one thread needs to weigh the edges into a few targets at a time. Fits of all of them go through
// X together: X is large, and a target alone may not have the fits to make a pass over it worthwhile.
class Weigher {
  public:
    Weigher(const EdgeProblems& problems, const ProductDesign& train, const ProductDesign& held,
            const EdgeSettings& settings, const EdgeWeights& weights, std::size_t group)
        : p_(problems), settings_(settings), out_(weights), train_(train), held_(held), n_(problems.train.n_rows),
          n_held_(problems.held.n_rows), width_(problems.train.width()) {
        for (Fit& fit : fits_) fit.resize(width_, n_);
        for (std::size_t k = 0; k < group; ++k) room_.emplace_back(train.design, n_held_);
    }

    void weigh(const std::size_t* targets, std::size_t n_targets, Interrupt& interrupt) {
        bases_.clear();
        for (std::size_t k = 0; k < n_targets; ++k) take(targets[k], room_[k]);
        settle(true);
        for (Base* base : bases_) waiting_.push_back({base, kNoParent, 0, std::fabs(base->weight)});
        run(interrupt);  // leaves the better solutions in the bases
        settle(false);
        for (Base* base : bases_) {
            out_.alone[base->target] = base->weight;
            const std::uint8_t* candidates = p_.candidates + base->target * p_.n_labels;
            for (std::size_t j = 0; j < p_.n_labels; ++j)
                if (candidates[j]) waiting_.push_back({base, static_cast<std::int32_t>(j), 0, std::fabs(base->weight)});
        }
        run(interrupt);
    }

  private:
    void take(std::size_t target, Base& base) {
        base.target = target;
        fill_rows(n_, p_.train_labels + target * n_, p_.train_weights, base.train);
        fill_rows(n_held_, p_.held_labels + target * n_held_, p_.held_weights, base.held);
        base.floor = kLeastLoss * std::accumulate(base.held.weight.begin(), base.held.weight.end(), 0.0);
        base.penalty = 1.0 / p_.C[target];
        base.parent_penalty = p_.label_penalty[target] / p_.C[target];
        std::copy_n(p_.start + target * width_, width_, base.coef.begin());
        out_.n_failed[target] = 0;
        bases_.push_back(&base);
    }

    // Everything that follows from the coefficients of the bases.
    void settle(bool factorise) {
        forward(train_, &Base::coef, &Base::score);
        for (Base* b : bases_) {
            LineSums sums;
            evaluate_line(b->train, b->score.data(), b->score.data(), 0.0, b->residual.data(), b->curvature.data(), sums);
            if (factorise) b->factor.make(b->curvature.data(), b->penalty);
        }
        backward(train_, &Base::residual, &Base::gradient);
        forward(held_, &Base::coef, &Base::held_score);
        for (Base* b : bases_)
            b->weight = log_likelihood(b->held, b->held_score.data(), b->held_residual.data(), b->held_mass);
        backward(held_, &Base::held_residual, &Base::held_gradient);
        for (Base* b : bases_) {
            add_scaled(width_ - 1, b->penalty, b->coef.data(), b->gradient.data());
            const double* r[] = {b->gradient.data(), b->held_gradient.data()};
            double* x[] = {b->newton.data(), b->held_solved.data()};
            b->factor.solve(2, r, x);
            b->newton_square = dot(width_, b->gradient.data(), b->newton.data());
            b->held_square = dot(width_, b->held_gradient.data(), b->held_solved.data());
        }
        forward(train_, &Base::newton, &Base::newton_score);
    }

    // Products of a vector of every base.
    void forward(Products& products, Vector Base::*from, Vector Base::*to) {
        gather_vectors(from, to);
        products.forward(static_cast<int>(bases_.size()), in_, out_vectors_);
    }
    void backward(Products& products, Vector Base::*from, Vector Base::*to) {
        gather_vectors(from, to);
        products.backward(static_cast<int>(bases_.size()), in_, out_vectors_);
    }
    void gather_vectors(Vector Base::*from, Vector Base::*to) {
        for (std::size_t k = 0; k < bases_.size(); ++k) {
            in_[k] = (bases_[k]->*from).data();
            out_vectors_[k] = (bases_[k]->*to).data();
        }
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
        const Base& base = *next.base;
        fit.phase = Phase::bordering;
        fit.base = next.base;
        fit.parent = next.parent;
        fit.attempt = next.attempt;
        fit.weight = next.weight;
        fit.iteration = 0;
        fit.least = 1;
        fit.v = fit.v_direction = 0;
        fit.coef = base.coef;
        fit.score = base.score;
        fit.residual = base.residual;
        fit.curvature = base.curvature;
        fit.gradient = base.gradient;
        std::fill(fit.column.begin(), fit.column.end(), 0.0);
        if (fit.parent != kNoParent) std::copy_n(p_.train_labels + fit.parent * n_, n_, fit.column.begin());
        fit.v_gradient = dot(n_, fit.column.data(), fit.residual.data());
    }

    // One round: products of all active fits together, their line searches in between.
    void advance() {
        int n = 0;
        for (Fit* fit : active_)
            if (fit->phase != Phase::bordering) {
                in_[n] = fit->phase == Phase::first ? fit->border_solved.data() : fit->direction.data();
                out_vectors_[n++] = fit->change.data();
            }
        if (n) train_.forward(n, in_, out_vectors_);
        n = 0;
        for (Fit* fit : active_) {
            respond(*fit);
            in_[n] = fit->phase == Phase::bordering ? fit->change.data() : fit->residual.data();
            out_vectors_[n++] = fit->phase == Phase::bordering ? fit->direction.data() : fit->gradient.data();
        }
        train_.backward(n, in_, out_vectors_);
        for (Fit* fit : active_)
            if (fit->phase == Phase::iterating)
                add_scaled(width_ - 1, fit->base->penalty, fit->coef.data(), fit->gradient.data());
        for (Base* base : bases_) precondition(*base);
    }

    // M^-1 of what the backward product gave the active fits of one target.
    void precondition(Base& base) {
        int n = 0;
        for (Fit* fit : active_) {
            if (fit->base != &base) continue;
            in_[n] = fit->phase == Phase::bordering ? fit->direction.data() : fit->gradient.data();
            out_vectors_[n++] = fit->phase == Phase::bordering ? fit->border_solved.data() : fit->solved.data();
        }
        if (n) base.factor.solve(n, in_, out_vectors_);
    }

    // Between the products: what goes into the backward one.
    void respond(Fit& fit) {
        if (fit.phase == Phase::bordering) {  // the coupling A'Dy of the parent's column with the others
            for (std::size_t i = 0; i < n_; ++i) fit.change[i] = fit.base->curvature[i] * fit.column[i];
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
        const Base& base = *fit.base;
        const double* U = fit.border_solved.data();
        for (std::size_t i = 0; i < n_; ++i) fit.change[i] = fit.column[i] - fit.change[i];
        fit.border = weighted_square(n_, base.curvature.data(), fit.change.data()) +
                     base.penalty * dot(width_ - 1, U, U) + base.parent_penalty;
        fit.border = std::max(fit.border, kLeastCurvature);
        double held_slope = 0;
        if (fit.parent != kNoParent) {
            const std::int8_t* labels = p_.held_labels + fit.parent * n_held_;
            for (std::size_t i = 0; i < n_held_; ++i) held_slope += labels[i] * base.held_residual[i];
        }
        held_slope -= dot(width_, U, base.held_gradient.data());
        fit.held_norm = std::sqrt(std::max(base.held_square + held_slope * held_slope / fit.border, 0.0));
        const double rest = fit.v_gradient - dot(width_, U, fit.gradient.data()), step = rest / fit.border;
        fit.rho = base.newton_square + rest * step;
        fit.slope = -fit.rho;
        fit.size = fit.rho;
        fit.v_direction = -step;
        for (std::size_t f = 0; f < width_; ++f) fit.direction[f] = U[f] * step - base.newton[f];
        for (std::size_t i = 0; i < n_; ++i) fit.change[i] = -base.newton_score[i] - step * fit.change[i];
    }

    // Go along the direction to where the loss is least, by Newton steps kept between the ends known.
    void search_line(Fit& fit) {
        const double lambda = fit.base->penalty, kappa = fit.base->parent_penalty;
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
            evaluate_line(fit.base->train, fit.score.data(), fit.change.data(), alpha, fit.residual.data(),
                          fit.curvature.data(), sums);
            slope = sums.slope + tilt + alpha * bend;
            curvature = sums.curvature + bend;
            if (std::fabs(slope) <= kFlat * std::fabs(fit.slope)) break;
            (slope < 0 ? low : high) = alpha;
        }
        if (!(alpha > 0)) return;  // also where a direction is not finite
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
        fit.v_gradient = dot(n_, fit.column.data(), fit.residual.data()) + fit.base->parent_penalty * fit.v;
        const double v_solved = (fit.v_gradient - dot(width_, U, fit.gradient.data())) / fit.border;
        add_scaled(width_, -v_solved, U, fit.solved.data());
        const double rho = dot(width_, fit.gradient.data(), fit.solved.data()) + fit.v_gradient * v_solved;
        const double kept = dot(width_, fit.old_gradient.data(), fit.solved.data()) + fit.v_old * v_solved;
        const double beta = std::max(0.0, (rho - kept) / fit.rho);  // Polak and Ribiere's
        fit.rho = rho;
        const bool converged = bound(fit) <= settings_.tolerance * std::max(fit.weight, fit.base->floor);
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
            fit.base->coef = fit.coef;
            if (!converged) ++out_.n_failed[fit.base->target];
            return;
        }
        Finished& done = finished_[n_finished_++];
        done.base = fit.base;
        done.parent = fit.parent;
        done.attempt = fit.attempt;
        done.v = fit.v;
        done.bound = bound(fit);
        done.converged = converged;
        done.coef = fit.coef;
        done.score.resize(padded(n_held_));
        if (n_finished_ == kLanes) weigh_finished();
    }

    // Score the held-out rows. A fit whose weight turns out smaller than was expected has to be better.
    void weigh_finished() {
        for (int k = 0; k < n_finished_; ++k) {
            in_[k] = finished_[k].coef.data();
            out_vectors_[k] = finished_[k].score.data();
        }
        held_.forward(n_finished_, in_, out_vectors_);
        for (int k = 0; k < n_finished_; ++k) {
            Finished& done = finished_[k];
            const Base& base = *done.base;
            const std::int8_t* labels = p_.held_labels + done.parent * n_held_;
            for (std::size_t i = 0; i < n_held_; ++i) done.score[i] += done.v * labels[i];
            double mass = 0;
            const double weight = log_likelihood(base.held, done.score.data(), done.score.data(), mass);
            out_.pair[base.target * p_.n_labels + done.parent] = weight;
            // The held-out gradient has become smaller or larger with its residuals.
            const double size = std::max(std::fabs(weight), base.floor) * base.held_mass / mass;
            const bool good = done.bound <= settings_.tolerance * size;
            if (!good && done.converged && done.attempt + 1 < kMostAttempts)
                waiting_.push_back({done.base, done.parent, done.attempt + 1, kCaution * size});
            else if (!good)
                ++out_.n_failed[base.target];
        }
        n_finished_ = 0;
    }

    const EdgeProblems& p_;
    const EdgeSettings& settings_;
    const EdgeWeights& out_;
    Products train_, held_;
    std::size_t n_, n_held_, width_;
    std::deque<Base> room_;
    std::vector<Base*> bases_;  // the targets in work
    Fit fits_[kLanes];
    std::vector<Fit*> active_;
    std::deque<Waiting> waiting_;
    Finished finished_[kLanes];
    int n_finished_ = 0;
    const double* in_[kLanes];
    double* out_vectors_[kLanes];
};

}  // namespace

void weigh_edges(const EdgeProblems& problems, const EdgeSettings& settings, const EdgeWeights& weights,
                 Interrupt& interrupt) {
    std::vector<std::size_t> targets;
    for (std::size_t i = 0; i < problems.n_labels; ++i)
        if (problems.targets[i]) targets.push_back(i);
    if (targets.empty()) return;
    const ProductDesign train(problems.train), held(problems.held);
    // No fit depends on those beside it, so groups may follow the number of threads.
    const auto n_threads = std::min<std::size_t>(resolve_threads(settings.n_threads), targets.size());
    const std::size_t group = std::min(kGroup, (targets.size() + n_threads - 1) / n_threads);
    const std::size_t n_groups = (targets.size() + group - 1) / group;
    std::atomic<std::size_t> queue{0};
    parallel_for(std::min(n_threads, n_groups), static_cast<int>(n_threads), [&](std::size_t) {
        interrupt.run([&] {
            Weigher weigher(problems, train, held, settings, weights, group);
            for (std::size_t k; (k = queue.fetch_add(1)) < n_groups;)
                weigher.weigh(targets.data() + k * group, std::min(group, targets.size() - k * group), interrupt);
        });
    });
}

}  // namespace labelweave
