#include "svm/lasvm.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "design/row_entries.hpp"
#include "threads/share_rows.hpp"

namespace labelweave::svm {
namespace {

// Equal rows have no curvature between them; a step along them is bounded by C alone.
constexpr double kLeastCurvature = 1e-12;
// Rows of each kind that the working set starts with, as the authors' program does.
constexpr std::size_t kSeedsOfAKind = 5;

struct Member {
    std::int32_t row;
    std::int32_t sign;
    double alpha, gradient, lower, upper;
};

// Positions of the members with the steepest way up and down.
struct Extremes {
    std::size_t up = 0, down = 0;
    double gap = 0.0;  // how much steeper; -inf where there is no such pair
};

class Machine {
  public:
    Machine(const LasvmProblem& problem, KernelCache& kernel, std::size_t label)
        : problem_(problem), kernel_(kernel), label_(label), position_(problem.design.n_rows, -1),
          weights_(problem.kernel.rbf ? 0 : problem.design.n_features) {}

    // Begin with a few rows of each kind, so that there are pairs to step along.
    void seed(const std::int64_t* order) {
        std::size_t n_found[2] = {};
        for (std::size_t t = 0; t < problem_.design.n_rows; ++t) {
            const auto row = static_cast<std::size_t>(order[t]);
            if (n_found[label(row)]++ < kSeedsOfAKind) enter(row);
        }
    }

    // Bring in a row that is no member, and step along the best pair it belongs to.
    void process(std::size_t row) {
        if (position_[row] >= 0) return;
        enter(row);
        const std::size_t added = members_.size() - 1;
        Extremes pair = extremes();
        (members_[added].sign > 0 ? pair.up : pair.down) = added;
        pair.gap = gap(pair);
        if (violates(pair)) step(pair);
    }

    // Step along the best pair of members and drop those that are of no use any more.
    void reprocess() {
        const Extremes pair = extremes();
        if (!violates(pair)) return;
        step(pair);
        drop_idle(extremes());
    }

    // Reprocess until no pair is worth a step.
    bool finish(threads::Interrupt& interrupt) {
        Extremes pair = extremes();
        for (std::int64_t n_steps = 0; violates(pair); ++n_steps) {
            if (n_steps == problem_.max_steps) return false;
            if (n_steps % 64 == 0) interrupt.check();
            step(pair);
            pair = extremes();
        }
        return true;
    }

    LasvmSolution solution() const {
        LasvmSolution out;
        const Extremes pair = extremes();
        out.intercept = 0.5 * (members_[pair.up].gradient + members_[pair.down].gradient);
        std::vector<Member> support;
        for (const Member& m : members_)
            if (m.alpha != 0.0) support.push_back(m);
        std::sort(support.begin(), support.end(), [](const Member& a, const Member& b) { return a.row < b.row; });
        out.weights.assign(weights_.size(), 0.0);
        for (const Member& m : support) {
            out.support.push_back(m.row);
            out.alpha.push_back(m.alpha);
            out.objective += 0.5 * m.alpha * (m.sign + m.gradient);
            // Summed up anew: the steps' rounding errors are left behind.
            if (!problem_.kernel.rbf) add_row(out.weights, m.row, m.alpha);
        }
        return out;
    }

  private:
    int label(std::size_t row) const { return problem_.labels[row * problem_.n_labels + label_]; }

    void enter(std::size_t row) {
        const std::int32_t sign = label(row) ? 1 : -1;
        const double limit = problem_.limits[row];
        const double gradient = sign - score(row);
        position_[row] = static_cast<std::int32_t>(members_.size());
        rows_.push_back(static_cast<std::int32_t>(row));
        members_.push_back(
            {static_cast<std::int32_t>(row), sign, 0.0, gradient, sign > 0 ? 0.0 : -limit, sign > 0 ? limit : 0.0});
    }

    // sum_j alpha_j K(row, j); the linear kernel has it from its weights.
    double score(std::size_t row) {
        double total = 0.0;
        if (!problem_.kernel.rbf) {
            const design::RowEntries x = design::row_entries(problem_.design, row);
            for (std::size_t k = 0; k < x.size; ++k) total += x.values[k] * weights_[x.column(k)];
            return total;
        }
        const double* k = kernel_.row(row, rows_.data(), rows_.size());
        for (const Member& m : members_) total += m.alpha * k[m.row];
        return total;
    }

    Extremes extremes() const {
        Extremes pair;
        double highest = -std::numeric_limits<double>::infinity(), lowest = -highest;
        for (std::size_t s = 0; s < members_.size(); ++s) {
            const Member& m = members_[s];
            if (m.alpha < m.upper && m.gradient > highest) highest = m.gradient, pair.up = s;
            if (m.alpha > m.lower && m.gradient < lowest) lowest = m.gradient, pair.down = s;
        }
        pair.gap = highest - lowest;
        return pair;
    }

    double gap(const Extremes& pair) const { return members_[pair.up].gradient - members_[pair.down].gradient; }

    bool violates(const Extremes& pair) const {
        const Member &up = members_[pair.up], &down = members_[pair.down];
        return up.alpha < up.upper && down.alpha > down.lower && pair.gap > problem_.tolerance;
    }

    void step(const Extremes& pair) {
        Member &up = members_[pair.up], &down = members_[pair.down];
        const double* k_up = kernel_.row(up.row, rows_.data(), rows_.size());
        const double* k_down = kernel_.row(down.row, rows_.data(), rows_.size());
        const double curvature =
            std::max(kernel_.diagonal(up.row) + kernel_.diagonal(down.row) - 2.0 * k_up[down.row], kLeastCurvature);
        const double room_up = up.upper - up.alpha, room_down = down.alpha - down.lower;
        const double size = std::min({pair.gap / curvature, room_up, room_down});
        // Bounds are reached exactly, not up to rounding.
        up.alpha = size == room_up ? up.upper : up.alpha + size;
        down.alpha = size == room_down ? down.lower : down.alpha - size;
        for (Member& m : members_) m.gradient -= size * (k_up[m.row] - k_down[m.row]);
        if (!problem_.kernel.rbf) {
            add_row(weights_, up.row, size);
            add_row(weights_, down.row, -size);
        }
    }

    // Members at zero that no pair would move: the direction they could go is not the steepest.
    void drop_idle(const Extremes& pair) {
        const double highest = members_[pair.up].gradient, lowest = members_[pair.down].gradient;
        for (std::size_t s = members_.size(); s-- > 0;) {
            const Member& m = members_[s];
            if (m.alpha == 0.0 && (m.sign < 0 ? m.gradient >= highest : m.gradient <= lowest)) leave(s);
        }
    }

    void leave(std::size_t s) {
        position_[members_[s].row] = -1;
        members_[s] = members_.back();
        rows_[s] = rows_.back();
        if (s + 1 < members_.size()) position_[members_[s].row] = static_cast<std::int32_t>(s);
        members_.pop_back();
        rows_.pop_back();
    }

    void add_row(std::vector<double>& to, std::size_t row, double factor) const {
        const design::RowEntries x = design::row_entries(problem_.design, row);
        for (std::size_t k = 0; k < x.size; ++k) to[x.column(k)] += factor * x.values[k];
    }

    const LasvmProblem& problem_;
    KernelCache& kernel_;
    std::size_t label_;
    std::vector<Member> members_;
    std::vector<std::int32_t> rows_;      // of the members, in the same order
    std::vector<std::int32_t> position_;  // of each row among the members, or -1
    std::vector<double> weights_;         // sum of alpha_i x_i; linear kernel only
};

LasvmSolution learn(const LasvmProblem& problem, KernelCache& kernel, std::size_t label,
                    threads::Interrupt& interrupt) {
    const std::size_t n = problem.design.n_rows;
    Machine machine(problem, kernel, label);
    machine.seed(problem.order);
    for (std::size_t pass = 0; pass < problem.n_passes; ++pass)
        for (std::size_t t = 0; t < n; ++t) {
            interrupt.check();
            machine.process(static_cast<std::size_t>(problem.order[pass * n + t]));
            machine.reprocess();
        }
    const bool converged = machine.finish(interrupt);
    LasvmSolution solution = machine.solution();
    solution.converged = converged;
    return solution;
}

}  // namespace

std::vector<LasvmSolution> lasvm(const LasvmProblem& problem, int n_threads, threads::Interrupt& interrupt) {
    std::vector<LasvmSolution> solutions(problem.n_labels);
    const std::vector<double> squares = row_squares(problem.design);
    const std::size_t n_workers = std::min<std::size_t>(threads::resolve_threads(n_threads), problem.n_labels);
    const std::size_t room = problem.room / std::max<std::size_t>(1, n_workers);
    threads::share_rows(
        problem.n_labels, n_threads, interrupt,
        [&] {
            // Labels share X, so the kernel rows of one label may serve the next.
            auto kernel = std::make_shared<KernelCache>(problem.design, problem.kernel, squares.data(), room);
            return [&, kernel](std::size_t label) { solutions[label] = learn(problem, *kernel, label, interrupt); };
        },
        1);
    return solutions;
}

}  // namespace labelweave::svm
