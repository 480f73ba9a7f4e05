#include "logistic/lane_preconditioner.hpp"

namespace labelweave::logistic {

LanePreconditioner::LanePreconditioner(const design::Design& design, Preconditioner& shared)
    : shared_(shared), order_(design.n_features + 1), memory_(design), solution_(design.width()),
      projected_(memory_.enabled() ? design.width() : 0), scratch_(shared.factored() ? order_ : 0),
      narrow_((scratch_.size() + 1) / 2) {}

void LanePreconditioner::remember(const NewtonState& s, const Lanes& curvature) {
    if (!memory_.enabled()) return;
    if (any(s.advancing)) memory_.record(s, curvature);
    for (int k = 0; k < kLanes; ++k)
        if (s.restarting[k]) memory_.begin_system(k);
}

Lanes LanePreconditioner::apply(const NewtonState& s, const int (&levels)[kLanes]) {
    const Lanes* residual = s.residual.data();
    if (!memory_.enabled()) return apply_shared(s, levels, residual);
    memory_.project(residual, projected_.data());
    apply_shared(s, levels, projected_.data());
    return memory_.correct(residual, solution_.data());
}

Lanes LanePreconditioner::apply_shared(const NewtonState& s, const int (&levels)[kLanes], const Lanes* r) {
    Lanes rho{};
    if (!shared_.factored()) {
        precondition_diagonal(s, shared_.squares(), 0, r, solution_.data(), rho);
        return rho;
    }
    LaneMask pending = s.advancing | s.restarting;
    for (int k = 0; k < kLanes; ++k) {
        if (!pending[k]) continue;
        LaneMask same{};
        for (int j = k; j < kLanes; ++j) same[j] = pending[j] && levels[j] == levels[k] ? -1 : 0;
        linalg::solve_factored(shared_.factor(levels[k]), order_, r, reinterpret_cast<float*>(narrow_.data()),
                               scratch_.data());
        for (std::size_t row = 0; row < order_; ++row) solution_[row] = select(same, scratch_[row], solution_[row]);
        pending &= ~same;
    }
    rescale(s, order_, r, solution_.data(), rho);
    precondition_diagonal(s, shared_.squares(), order_, r, solution_.data(), rho);
    return rho;
}

}  // namespace labelweave::logistic
