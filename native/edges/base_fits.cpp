#include "edges/base_fits.hpp"

#include <algorithm>
#include <numeric>

namespace labelweave::edges {
namespace {

// The relative tolerance does not apply to weights closer to zero than this per row, in nats.
constexpr double kLeastLoss = 1e-4;

}  // namespace

BaseFits::BaseFits(const Problems& problems, const design::ProductDesign& train_design,
                   const design::ProductDesign& held_design, std::size_t group)
    : train(train_design), held(held_design), p_(problems), n_(problems.train.n_rows), n_held_(problems.held.n_rows),
      width_(problems.train.width()) {
    for (std::size_t k = 0; k <= group; ++k) room_.emplace_back(train_design.design, n_held_);
}

void BaseFits::load(std::size_t target, BaseFit& base) const {
    base.target = target;
    fill_rows(n_, p_.train_labels + target * n_, p_.train_weights, base.train);
    fill_rows(n_held_, p_.held_labels + target * n_held_, p_.held_weights, base.held);
    const double held_total = std::accumulate(base.held.weight.begin(), base.held.weight.end(), 0.0);
    base.floor = kLeastLoss * held_total;
    base.share = held_total / std::accumulate(base.train.weight.begin(), base.train.weight.end(), 0.0);
    base.penalty = 1.0 / p_.C[target];
    base.parent_penalty = p_.label_penalty[target] / p_.C[target];
}

void BaseFits::take(const std::size_t* targets, std::size_t n_targets) {
    current_.clear();
    for (std::size_t k = 0; k < n_targets; ++k) {
        BaseFit& base = room_[k];
        load(targets[k], base);
        std::copy_n(p_.start + targets[k] * width_, width_, base.coef.begin());
        current_.push_back(&base);
    }
    evaluate(true);
}

BaseFit& BaseFits::recentre(const StalledFit& stalled) {
    BaseFit& base = room_.back();
    load(stalled.target, base);
    base.parent = stalled.parent;
    base.v = stalled.v;
    base.coef = stalled.coef;
    current_.assign(1, &base);
    evaluate(true);
    return base;
}

void BaseFits::evaluate(bool factorise) {
    forward(train, &BaseFit::coef, &BaseFit::score);
    for (BaseFit* b : current_) {
        add_labels(n_, b->v, labels_of(p_.train_labels, n_, b->parent), b->score.data());
        LineDerivatives sums;
        evaluate_line(b->train, b->score.data(), b->score.data(), 0.0, b->residual.data(), b->curvature.data(), sums);
        if (factorise) b->factor.make(b->curvature.data(), b->penalty);
    }
    backward(train, &BaseFit::residual, &BaseFit::gradient);
    forward(held, &BaseFit::coef, &BaseFit::held_score);
    for (BaseFit* b : current_) {
        add_labels(n_held_, b->v, labels_of(p_.held_labels, n_held_, b->parent), b->held_score.data());
        b->weight = log_likelihood(b->held, b->held_score.data(), b->held_residual.data());
    }
    backward(held, &BaseFit::held_residual, &BaseFit::held_gradient);
    for (BaseFit* b : current_) {
        linalg::add_scaled(width_ - 1, b->penalty, b->coef.data(), b->gradient.data());
        const double *g = b->gradient.data(), *h = b->held_gradient.data();
        double* newton = b->newton.data();
        b->factor.solve(1, &g, &newton);
        b->newton_square = linalg::dot(width_, g, newton);
        b->factor.norms(1, &h, &b->held_square);
    }
    forward(train, &BaseFit::newton, &BaseFit::newton_score);
}

void BaseFits::forward(design::Products& products, Vector BaseFit::* from, Vector BaseFit::* to) {
    gather(from, to);
    products.forward(static_cast<int>(current_.size()), in_, out_);
}

void BaseFits::backward(design::Products& products, Vector BaseFit::* from, Vector BaseFit::* to) {
    gather(from, to);
    products.backward(static_cast<int>(current_.size()), in_, out_);
}

void BaseFits::gather(Vector BaseFit::* from, Vector BaseFit::* to) {
    for (std::size_t k = 0; k < current_.size(); ++k) {
        in_[k] = (current_[k]->*from).data();
        out_[k] = (current_[k]->*to).data();
    }
}

}  // namespace labelweave::edges
