#include "edges/edge_weights.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <vector>

#include "edges/base_fits.hpp"
#include "edges/parent_fit.hpp"
#include "threads/parallel.hpp"

namespace labelweave::edges {
namespace {

// Targets that a thread works on at a time.
constexpr std::size_t kGroup = 4;
constexpr int kMostAttempts = 8;
// The held-out gradient and the weight that stop a fit still change slightly as the fit improves: a safety factor.
constexpr double kCaution = 0.8;

// The state of one thread, which weighs the edges into a few targets at a time. The fits of all these targets share the
// passes over X, since X is large and a single target may have too few fits to make a pass worthwhile.
class Weigher {
  public:
    Weigher(const Problems& problems, const design::ProductDesign& train, const design::ProductDesign& held,
            const Settings& settings, const Weights& weights, std::size_t group)
        : p_(problems), settings_(settings), out_(weights), n_(problems.train.n_rows), n_held_(problems.held.n_rows),
          width_(problems.train.width()), bases_(problems, train, held, group) {
        for (ParentFit& fit : fits_) fit.resize(width_, n_);
        for (FinishedFit& done : finished_) done.resize(width_, n_held_);
    }

    void weigh(const std::size_t* targets, std::size_t n_targets, threads::Interrupt& interrupt) {
        bases_.take(targets, n_targets);
        for (BaseFit* base : bases_) {
            out_.n_failed[base->target] = 0;
            pending_.push_back({base, kNoParent, 0, std::fabs(base->weight), 0.0});
        }
        run(interrupt);  // leaves the better solutions in the bases
        bases_.evaluate(false);
        for (BaseFit* base : bases_) {
            out_.alone[base->target] = base->weight;
            const std::uint8_t* candidates = p_.candidates + base->target * p_.n_labels;
            for (std::size_t j = 0; j < p_.n_labels; ++j)
                if (candidates[j])
                    pending_.push_back({base, static_cast<std::int32_t>(j), 0, std::fabs(base->weight), 0.0});
        }
        run(interrupt);
        for (; !stalled_.empty(); run(interrupt)) {
            const StalledFit& stalled = stalled_.front();
            pending_.push_back({&bases_.recentre(stalled), stalled.parent, stalled.attempt, stalled.weight, 0.0});
            stalled_.pop_front();
        }
    }

  private:
    // Eight fits side by side, until none is waiting.
    void run(threads::Interrupt& interrupt) {
        while (true) {
            interrupt.check();
            active_.clear();
            for (ParentFit& fit : fits_) {
                if (fit.phase == Phase::idle && !pending_.empty()) {
                    fit.begin(pending_.front(), labels_of(p_.train_labels, n_, pending_.front().parent));
                    pending_.pop_front();
                }
                if (fit.phase != Phase::idle) active_.push_back(&fit);
            }
            if (active_.empty()) {
                weigh_finished();
                if (pending_.empty()) return;
                continue;
            }
            advance();
            for (ParentFit* fit : active_) check_convergence(*fit);
        }
    }

    // One round: products of all active fits together, their line searches in between.
    void advance() {
        int n = 0;
        for (ParentFit* fit : active_)
            if (fit->phase != Phase::bordering) {
                in_[n] = fit->phase == Phase::first ? fit->border_solved.data() : fit->direction.data();
                out_vectors_[n++] = fit->change.data();
            }
        if (n) bases_.train.forward(n, in_, out_vectors_);
        n = 0;
        for (ParentFit* fit : active_) {
            respond(*fit);
            in_[n] = fit->phase == Phase::bordering ? fit->change.data() : fit->residual.data();
            out_vectors_[n++] = fit->phase == Phase::bordering ? fit->direction.data() : fit->gradient.data();
        }
        bases_.train.backward(n, in_, out_vectors_);
        for (ParentFit* fit : active_)
            if (fit->phase == Phase::iterating)
                linalg::add_scaled(width_ - 1, fit->base->penalty, fit->coef.data(), fit->gradient.data());
        for (BaseFit* base : bases_) precondition(*base);
    }

    // M^-1 times the results of the backward product for the active fits of one target.
    void precondition(BaseFit& base) {
        int n = 0;
        for (ParentFit* fit : active_) {
            if (fit->base != &base) continue;
            in_[n] = fit->phase == Phase::bordering ? fit->direction.data() : fit->gradient.data();
            out_vectors_[n++] = fit->phase == Phase::bordering ? fit->border_solved.data() : fit->solved.data();
        }
        if (n) base.factor.solve(n, in_, out_vectors_);
    }

    // Between the products: the input of the backward product.
    void respond(ParentFit& fit) {
        if (fit.phase == Phase::bordering) {  // the coupling A'Dy of the parent's column with the others
            for (std::size_t i = 0; i < n_; ++i) fit.change[i] = fit.base->curvature[i] * fit.column[i];
            return;
        }
        if (fit.phase == Phase::first) {
            fit.bordered_newton_step(n_held_, labels_of(p_.held_labels, n_held_, fit.parent));
            fit.phase = Phase::iterating;
        } else {
            linalg::add_scaled(n_, fit.v_direction, fit.column.data(), fit.change.data());
        }
        std::swap(fit.gradient, fit.old_gradient);
        fit.v_old = fit.v_gradient;
        fit.line_search();
    }

    // After a round: whether a fit is good enough, or where it goes next.
    void check_convergence(ParentFit& fit) {
        if (fit.phase == Phase::bordering) {
            fit.phase = Phase::first;
            return;
        }
        const double beta = fit.precondition_gradient();
        const double error = weight_error(fit.held_norm, fit.rho, fit.least, fit.base->share);
        const bool converged = error <= settings_.tolerance * std::max(fit.weight, fit.base->floor);
        if (converged || !std::isfinite(fit.rho) || !(fit.rho > 0) || fit.iteration >= settings_.max_iterations)
            finish(fit, converged);
        else
            fit.update_direction(beta);
    }

    void finish(ParentFit& fit, bool converged) {
        fit.phase = Phase::idle;
        if (fit.parent == kNoParent) {
            fit.base->coef = fit.coef;
            if (!converged) ++out_.n_failed[fit.base->target];
            return;
        }
        FinishedFit& done = finished_[n_finished_++];
        done.base = fit.base;
        done.parent = fit.parent;
        done.attempt = fit.attempt;
        done.v = fit.v;
        done.rho = fit.rho;
        done.least = fit.least;
        done.border = fit.border;
        done.converged = converged;
        std::swap(done.coef, fit.coef);
        std::swap(done.border_solved, fit.border_solved);
        if (n_finished_ == kLanes) weigh_finished();
    }

    // Weigh on the held-out rows, and bound the errors by the gradients there. The fits stopped by an estimate of these
    // gradients.
    void weigh_finished() {
        double weight[kLanes], square[kLanes];
        bases_.held.forward(n_finished_, gather(&FinishedFit::coef), scatter(&FinishedFit::score));
        for (int k = 0; k < n_finished_; ++k) {
            FinishedFit& done = finished_[k];
            add_labels(n_held_, done.v, labels_of(p_.held_labels, n_held_, done.parent), done.score.data());
            weight[k] = log_likelihood(done.base->held, done.score.data(), done.score.data());
            out_.pair[done.base->target * p_.n_labels + done.parent] = weight[k];
        }
        bases_.held.backward(n_finished_, gather(&FinishedFit::score), scatter(&FinishedFit::held_gradient));
        for (BaseFit* base : bases_) {
            int n = 0, which[kLanes];
            for (int k = 0; k < n_finished_; ++k) {
                if (finished_[k].base != base) continue;
                in_[n] = finished_[k].held_gradient.data();
                which[n++] = k;
            }
            if (n) base->factor.norms(n, in_, square);
            for (int i = 0; i < n; ++i) finished_[which[i]].held_square = square[i];
        }
        for (int k = 0; k < n_finished_; ++k) {
            FinishedFit& done = finished_[k];
            const double* h = done.held_gradient.data();
            const std::int8_t* labels = labels_of(p_.held_labels, n_held_, done.parent);
            const double along = held_slope(n_held_, labels, done.score.data());
            const double rest = along - linalg::dot(width_, done.border_solved.data(), h);
            accept(done, std::fabs(weight[k]), std::sqrt(done.held_square + rest * rest / done.border));
        }
        n_finished_ = 0;
    }

    // Keep a weight that is accurate enough. Otherwise repeat the fit, since the accuracy it needs is now known; if
    // that was not the cause, continue it from its present point.
    void accept(const FinishedFit& done, double weight, double held_norm) {
        const BaseFit& base = *done.base;
        const double error = weight_error(held_norm, done.rho, done.least, base.share);
        if (error <= settings_.tolerance * std::max(weight, base.floor)) return;
        if (done.attempt + 1 == kMostAttempts)
            ++out_.n_failed[base.target];
        else if (done.converged && done.attempt == 0)
            pending_.push_back({done.base, done.parent, 1, weight, held_norm / kCaution});
        else
            stalled_.push_back({base.target, done.parent, done.attempt + 1, done.v, weight, done.coef});
    }

    const double* const* gather(Vector FinishedFit::* from) {
        for (int k = 0; k < n_finished_; ++k) in_[k] = (finished_[k].*from).data();
        return in_;
    }
    double* const* scatter(Vector FinishedFit::* to) {
        for (int k = 0; k < n_finished_; ++k) out_vectors_[k] = (finished_[k].*to).data();
        return out_vectors_;
    }

    const Problems& p_;
    const Settings& settings_;
    const Weights& out_;
    std::size_t n_, n_held_, width_;
    BaseFits bases_;
    ParentFit fits_[kLanes];
    std::vector<ParentFit*> active_;
    std::deque<PendingFit> pending_;
    std::deque<StalledFit> stalled_;
    FinishedFit finished_[kLanes];
    int n_finished_ = 0;
    const double* in_[kLanes];
    double* out_vectors_[kLanes];
};

}  // namespace

void weigh(const Problems& problems, const Settings& settings, const Weights& weights, threads::Interrupt& interrupt) {
    std::vector<std::size_t> targets;
    for (std::size_t i = 0; i < problems.n_labels; ++i)
        if (problems.targets[i]) targets.push_back(i);
    if (targets.empty()) return;
    const design::ProductDesign train(problems.train), held(problems.held);
    // No fit depends on the other fits of its group, so the groups may depend on the number of threads.
    const auto n_threads = std::min<std::size_t>(threads::resolve_threads(settings.n_threads), targets.size());
    const std::size_t group = std::min(kGroup, (targets.size() + n_threads - 1) / n_threads);
    const std::size_t n_groups = (targets.size() + group - 1) / group;
    std::atomic<std::size_t> queue{0};
    threads::parallel_for(std::min(n_threads, n_groups), static_cast<int>(n_threads), [&](std::size_t) {
        interrupt.run([&] {
            Weigher weigher(problems, train, held, settings, weights, group);
            for (std::size_t k; (k = queue.fetch_add(1)) < n_groups;)
                weigher.weigh(targets.data() + k * group, std::min(group, targets.size() - k * group), interrupt);
        });
    });
}

}  // namespace labelweave::edges
