#include "logistic/solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "logistic/lane_preconditioner.hpp"
#include "logistic/newton_lane.hpp"
#include "logistic/newton_state.hpp"
#include "logistic/problem_queue.hpp"
#include "threads/parallel.hpp"

namespace labelweave::logistic {
namespace {

class NewtonBlock {
  public:
    NewtonBlock(const Problems& problems, const Settings& settings, const Solutions& solutions,
                Preconditioner& preconditioner, int n_lanes, threads::ThreadTeam& team)
        : problems_(problems), settings_(settings), solutions_(solutions), shared_preconditioner_(preconditioner),
          design_(problems.design), s_(design_), preconditioner_(design_, preconditioner), room_(pass_room(design_)),
          curvature_(design_.dense ? (n_lanes * design_.n_rows + kLanes - 1) / kLanes : design_.n_rows),
          score_(n_lanes * design_.n_rows), n_lanes_(n_lanes), team_(team) {
        if (!design_.dense && !design_.sparse_columns.indptr)
            sums_.emplace(design_.sparse, design_.n_rows, design_.n_features);
    }

    // Solve problems from the queue until it is empty and every lane is done.
    void run(ProblemQueue& queue, threads::Interrupt& interrupt) {
        for (int k = 0; k < n_lanes_; ++k) take_next(k, queue);
        while (n_busy_ > 0) {
            interrupt.check();
            const Tally tally = pass();
            Norms norms;
            if (any_in(Phase::evaluate)) move_coefficients(s_, norms);
            for (int k = 0; k < kLanes; ++k) finish_pass(k, tally, norms);
            set_moves();
            preconditioner_.remember(s_, along_);
            update_residual(s_);
            const Lanes rho = precondition();
            for (int k = 0; k < kLanes; ++k) plan(k, rho[k]);
            set_moves();
            update_direction(s_, preconditioner_.solution(), energy_);
            for (int k = 0; k < n_lanes_; ++k) {
                if (lanes_[k].move == Move::none && lanes_[k].phase == Phase::idle) take_next(k, queue);
                if (lanes_[k].move == Move::afresh) evaluate_afresh(k);
            }
        }
    }

  private:
    bool any_in(Phase phase) const {
        return std::any_of(lanes_, lanes_ + kLanes, [&](const NewtonLane& lane) { return lane.phase == phase; });
    }

    Tally pass() {
        Pass pass{design_, problems_.targets};
        for (int k = 0; k < kLanes; ++k) {
            const NewtonLane& lane = lanes_[k];
            pass.target[k] = problems_.target[lane.problem];
            pass.weight[k] = problems_.weight ? problems_.weight[lane.problem] : 0;
            pass.busy[k] = lane.phase != Phase::idle;
            pass.evaluating[k] = lane.phase == Phase::evaluate;
            s_.evaluating[k] = pass.evaluating[k] ? -1 : 0;
        }
        pass.direction = s_.direction.data();
        pass.score = score_.data();
        pass.curvature = reinterpret_cast<double*>(curvature_.data());
        pass.sums = sums_ ? &*sums_ : nullptr;
        Tally tally;
        run_pass(pass, team_, room_.data(), s_.gradient.data(), tally);
        return tally;
    }

    // After a pass: the step length of conjugate gradients, or whether a trial point is taken.
    void finish_pass(int k, const Tally& tally, const Norms& norms) {
        NewtonLane& lane = lanes_[k];
        lane.move = Move::none;
        if (lane.phase == Phase::idle) return;
        ++solutions_.passes[lane.problem];
        if (lane.phase == Phase::conjugate) {
            const double curvature = tally.product[k] + energy_[k];
            const double alpha = lane.rho / curvature;
            lane.stalled = !(curvature > 0) || !std::isfinite(curvature) || !std::isfinite(alpha * lane.rho);
            s_.alpha[k] = lane.stalled ? 0.0 : alpha;
            along_[k] = curvature;
            if (!lane.stalled) lane.decrease += 0.5 * alpha * lane.rho;
            lane.move = Move::advance;
            return;
        }
        feature_norm_[k] = norms.features[k];
        extra_norm_[k] = norms.extras[k];
        const double value = tally.loss[k] + penalty(k);
        const double promised = 2 * kArmijo * lane.step * lane.decrease;
        const bool better =
            std::isfinite(value) && value <= lane.objective - promised + kRounding * std::fabs(lane.objective);
        if (!lane.first && !better && lane.halvings < kMaxHalvings) {
            ++lane.halvings;
            lane.step *= 0.5;
            s_.backtrack[k] = lane.halvings == 1 ? -0.5 : 0.5;
            lane.move = Move::retry;
            return;
        }
        if (!lane.first) lane.stalled = !better;
        if (lane.halvings > kManyHalvings) {
            lane.halvings = 0;
            lane.move = Move::afresh;
            return;
        }
        lane.first = false;
        lane.objective = value;
        lane.mean_curvature = std::max(tally.curvature[k] / static_cast<double>(design_.n_rows), kLeastCurvature);
        lane.move = Move::restart;
        choose_level(k);
        if (lane.last || lane.stalled || lane.newton >= settings_.max_newton) finish_stage(k, tally.held_out[k]);
    }

    double penalty(int k) const {
        return 0.5 * (s_.lambda[k] * feature_norm_[k] + s_.extra_lambda[k] * extra_norm_[k]);
    }

    void finish_stage(int k, double held_out) {
        NewtonLane& lane = lanes_[k];
        const std::size_t at = lane.problem * problems_.n_stages + lane.stage;
        solutions_.objective[at] = lane.objective;
        solutions_.held_out[at] = held_out;
        const bool sure =
            lane.last && lane.solved && std::isfinite(lane.objective) && !shared_preconditioner_.overflowed();
        if (!sure) solutions_.converged[lane.problem] = 0;
        lane.n_worse = held_out > lane.held_out ? lane.n_worse + 1 : 0;
        lane.held_out = held_out;
        if (settings_.patience > 0 && lane.n_worse >= settings_.patience) stop_path(lane);
        if (++lane.stage >= problems_.n_stages) {
            write_coefficients(k);
            lane.phase = Phase::idle;
            lane.move = Move::none;
            --n_busy_;
            return;
        }
        lane.objective -= penalty(k);
        set_penalty(k);
        lane.objective += penalty(k);
        lane.newton = 0;
        choose_level(k);
    }

    // One factor serves a whole stage, since changing it costs more than it saves. It changes only if the curvature
    // becomes very different, because residuals would then be measured wrongly.
    void choose_level(int k) {
        NewtonLane& lane = lanes_[k];
        const int fitting = Preconditioner::level(s_.lambda[k] / lane.mean_curvature);
        const bool is_another = std::abs(fitting - lane.level) > kLevelsApart;
        if (is_another) preconditioner_.forget(k);
        if (is_another || lane.newton == 0) lane.level = fitting;
    }

    // The rest of the path is left out: its losses stay unknown.
    void stop_path(NewtonLane& lane) {
        const std::size_t end = (lane.problem + 1) * problems_.n_stages;
        for (std::size_t at = lane.problem * problems_.n_stages + lane.stage + 1; at < end; ++at)
            solutions_.objective[at] = solutions_.held_out[at] = std::numeric_limits<double>::quiet_NaN();
        lane.stage = problems_.n_stages;
    }

    void write_coefficients(int k) {
        if (!solutions_.coef) return;
        double* out = solutions_.coef + lanes_[k].problem * design_.width();
        for (std::size_t row = 0; row < design_.width(); ++row) out[row] = s_.coef[row][k];
    }

    void set_penalty(int k) {
        const std::size_t at = lanes_[k].problem * problems_.n_stages + lanes_[k].stage;
        s_.lambda[k] = 1.0 / problems_.C[at];
        s_.extra_lambda[k] = problems_.extra_penalty ? problems_.extra_penalty[at] / problems_.C[at] : s_.lambda[k];
    }

    // After preconditioning: go on with conjugate gradients, start them, or try the step they gave.
    void plan(int k, double rho) {
        NewtonLane& lane = lanes_[k];
        if (lane.move == Move::restart) {
            lane.phase = Phase::conjugate;
            lane.rho = lane.rho_start = rho;
            lane.decrease = 0;
            lane.conjugate = 0;
            lane.solved = rho == 0;
            if (!(rho > 0) || !std::isfinite(rho)) try_step(lane, true);
        } else if (lane.move == Move::advance) {
            ++lane.conjugate;
            lane.solved = rho <= forcing(lane) * lane.rho_start;
            s_.beta[k] = rho / lane.rho;
            lane.rho = rho;
            lane.stalled = lane.stalled || !std::isfinite(rho);
            if (lane.solved || lane.stalled || lane.conjugate >= kMaxConjugate)
                try_step(lane, lane.stalled || lane.decrease <= settings_.tolerance * lane.objective);
        }
    }

    // The factor by which the squared preconditioned residual, about twice the remaining decrease of the objective, has
    // to shrink for a Newton step.
    double forcing(const NewtonLane& lane) const {
        const double arriving = kQuadratic * lane.rho_start / lane.objective;
        const double needed = 0.5 * settings_.tolerance * lane.objective / lane.rho_start;
        return std::min(kForcing * kForcing, std::max(arriving, needed));
    }

    static void try_step(NewtonLane& lane, bool last) {
        lane.phase = Phase::evaluate;
        lane.last = last;
        const double most = kMostPromised * lane.objective;
        lane.step = lane.decrease > most ? most / lane.decrease : 1;
        lane.halvings = 0;
        ++lane.newton;
    }

    void set_moves() {
        for (int k = 0; k < kLanes; ++k) {
            const NewtonLane& lane = lanes_[k];
            s_.advancing[k] = lane.move == Move::advance ? -1 : 0;
            s_.restarting[k] = lane.move == Move::restart ? -1 : 0;
            s_.retrying[k] = lane.move == Move::retry ? -1 : 0;
            s_.evaluating[k] = lane.phase == Phase::evaluate && lane.move != Move::retry ? -1 : 0;
            s_.scale[k] = lane.mean_curvature;
            s_.first_trial[k] = lane.step;
        }
    }

    Lanes precondition() {
        int levels[kLanes];
        for (int k = 0; k < kLanes; ++k) levels[k] = lanes_[k].level;
        return preconditioner_.apply(s_, levels);
    }

    void take_next(int k, ProblemQueue& queue) {
        const std::size_t problem = queue.take();
        NewtonLane& lane = lanes_[k];
        lane = NewtonLane{};
        if (problem >= problems_.n_problems) return;
        ++n_busy_;
        lane.problem = problem;
        solutions_.converged[problem] = 1;
        solutions_.passes[problem] = 0;
        set_penalty(k);
        preconditioner_.forget(k);
        const double* start = problems_.start ? problems_.start + problem * design_.width() : nullptr;
        for (std::size_t row = 0; row < design_.width(); ++row) s_.coef[row][k] = start ? start[row] : 0.0;
        if (!start && problems_.start_intercept) s_.coef[design_.intercept()][k] = problems_.start_intercept[problem];
        for (std::size_t e = 0; e < design_.n_extras; ++e) {
            const bool used = !problems_.extra_mask || problems_.extra_mask[problem * design_.n_extras + e];
            s_.extra_mask[e][k] = used ? 1.0 : 0.0;
            if (!used) s_.coef[design_.first_extra() + e][k] = 0.0;
        }
        evaluate_afresh(k);
    }

    // Scores are added up from step to step; here they come from the coefficients alone.
    void evaluate_afresh(int k) {
        lanes_[k].phase = Phase::evaluate;
        lanes_[k].first = true;
        for (std::size_t row = 0; row < design_.width(); ++row) {
            s_.direction[row][k] = s_.coef[row][k];
            s_.coef[row][k] = 0.0;
        }
        std::fill_n(score_.begin() + k * design_.n_rows, design_.n_rows, 0.0);
    }

    const Problems& problems_;
    const Settings& settings_;
    const Solutions& solutions_;
    Preconditioner& shared_preconditioner_;
    const design::Design& design_;
    NewtonState s_;
    LanePreconditioner preconditioner_;
    LaneArray room_, curvature_;
    std::vector<double> score_;
    std::optional<design::ColumnSums> sums_;
    int n_lanes_;
    threads::ThreadTeam& team_;
    NewtonLane lanes_[kLanes];
    Lanes along_{};  // curvature p'Hp along the directions
    Lanes energy_{}, feature_norm_{}, extra_norm_{};
    int n_busy_ = 0;
};

}  // namespace

void solve(Problems problems, const Settings& settings, const Solutions& solutions, threads::Interrupt& interrupt) {
    if (problems.n_problems == 0) return;
    const int n_threads = threads::resolve_threads(settings.n_threads);
    design::Design& design = problems.design;
    design::OwnedCsr columns;
    if (!design.dense) {
        design.sparse = design::without_unit_values(design.sparse, design.n_rows);
        if (design::transposed_bytes(design.sparse, design.n_rows) <= settings.largest_transpose) {
            columns = design::transpose(design.sparse, design.n_rows, design.n_features);
            design.sparse_columns = columns.view();
        }
    }
    if (design.n_extras) design.extras = design::without_unit_values(design.extras, design.n_rows);
    std::optional<threads::ThreadTeam> team(std::in_place, n_threads);
    Preconditioner preconditioner(design, *team);
    // A few problems over dense X share one block and split the rows. Otherwise every thread has a block
    // of its own, and problems are dealt out evenly where they are too few to fill the lanes.
    const bool split_rows = design.dense && problems.n_problems <= 2 * kLanes;
    const std::size_t n_blocks = split_rows ? 1 : std::min<std::size_t>(n_threads, problems.n_problems);
    const std::size_t share = (problems.n_problems + n_blocks - 1) / n_blocks;
    const int n_lanes = static_cast<int>(std::min<std::size_t>(share, kLanes));
    ProblemQueue queue(problems);
    if (!split_rows) team.emplace(1);
    threads::parallel_for(n_blocks, n_threads, [&](std::size_t) {
        interrupt.run(
            [&] { NewtonBlock(problems, settings, solutions, preconditioner, n_lanes, *team).run(queue, interrupt); });
    });
}

}  // namespace labelweave::logistic
