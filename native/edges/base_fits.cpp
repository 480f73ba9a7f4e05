#include "edges/base_fits.hpp"

#include <algorithm>
#include <numeric>

namespace labelweave {
namespace {

// Rows that are predicted better than this, in nats, need not be weighed to a share of their weight.
constexpr double kLeastLoss = 1e-4;

}  // namespace

EdgeBases::EdgeBases(const EdgeProblems& problems, const ProductDesign& train_design, const ProductDesign& held_design,
                     std::size_t group)
    : train(train_design), held(held_design), p_(problems), n_(problems.train.n_rows), n_held_(problems.held.n_rows),
      width_(problems.train.width()) {
    for (std::size_t k = 0; k <= group; ++k) room_.emplace_back(train_design.design, n_held_);
}

void EdgeBases::load(std::size_t target, Base& base) const {
    base.target = target;
    fill_rows(n_, p_.train_labels + target * n_, p_.train_weights, base.train);
    fill_rows(n_held_, p_.held_labels + target * n_held_, p_.held_weights, base.held);
    const double held_total = std::accumulate(base.held.weight.begin(), base.held.weight.end(), 0.0);
    base.floor = kLeastLoss * held_total;
    base.share = held_total / std::accumulate(base.train.weight.begin(), base.train.weight.end(), 0.0);
    base.penalty = 1.0 / p_.C[target];
    base.parent_penalty = p_.label_penalty[target] / p_.C[target];
}

void EdgeBases::take(const std::size_t* targets, std::size_t n_targets) {
    in_work_.clear();
    for (std::size_t k = 0; k < n_targets; ++k) {
        Base& base = room_[k];
        load(targets[k], base);
        std::copy_n(p_.start + targets[k] * width_, width_, base.coef.begin());
        in_work_.push_back(&base);
    }
    settle(true);
}

Base& EdgeBases::recentre(const Stuck& stuck) {
    Base& base = room_.back();
    load(stuck.target, base);
    base.parent = stuck.parent;
    base.v = stuck.v;
    base.coef = stuck.coef;
    in_work_.assign(1, &base);
    settle(true);
    return base;
}

void EdgeBases::settle(bool factorise) {
    forward(train, &Base::coef, &Base::score);
    for (Base* b : in_work_) {
        add_labels(n_, b->v, labels_of(p_.train_labels, n_, b->parent), b->score.data());
        LineSums sums;
        evaluate_line(b->train, b->score.data(), b->score.data(), 0.0, b->residual.data(), b->curvature.data(), sums);
        if (factorise) b->factor.make(b->curvature.data(), b->penalty);
    }
    backward(train, &Base::residual, &Base::gradient);
    forward(held, &Base::coef, &Base::held_score);
    for (Base* b : in_work_) {
        add_labels(n_held_, b->v, labels_of(p_.held_labels, n_held_, b->parent), b->held_score.data());
        b->weight = log_likelihood(b->held, b->held_score.data(), b->held_residual.data());
    }
    backward(held, &Base::held_residual, &Base::held_gradient);
    for (Base* b : in_work_) {
        add_scaled(width_ - 1, b->penalty, b->coef.data(), b->gradient.data());
        const double *g = b->gradient.data(), *h = b->held_gradient.data();
        double* newton = b->newton.data();
        b->factor.solve(1, &g, &newton);
        b->newton_square = dot(width_, g, newton);
        b->factor.norms(1, &h, &b->held_square);
    }
    forward(train, &Base::newton, &Base::newton_score);
}

void EdgeBases::forward(Products& products, Vector Base::*from, Vector Base::*to) {
    gather(from, to);
    products.forward(static_cast<int>(in_work_.size()), in_, out_);
}

void EdgeBases::backward(Products& products, Vector Base::*from, Vector Base::*to) {
    gather(from, to);
    products.backward(static_cast<int>(in_work_.size()), in_, out_);
}

void EdgeBases::gather(Vector Base::*from, Vector Base::*to) {
    for (std::size_t k = 0; k < in_work_.size(); ++k) {
        in_[k] = (in_work_[k]->*from).data();
        out_[k] = (in_work_[k]->*to).data();
    }
}

}  // namespace labelweave
