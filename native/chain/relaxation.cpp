#include "chain/relaxation.hpp"

#include <algorithm>
#include <cmath>

#include "simd/scalar_math.hpp"

namespace labelweave::chain {
namespace {

// The size of the first step, which decreases until the last one. Log-odds of tangents have a wider range.
constexpr double kFirstStep = 0.01, kTangentFactor = 20.0;
constexpr double kLastStep = 1e-5;
// The difference, in nats, below which a label counts as undecided: at first, and at last.
constexpr double kFirstDoubt = 0.09, kLastDoubt = 1e-3;
constexpr double kMeanDecay = 0.9, kSquareDecay = 0.99;
constexpr double kFirstRoot = 0.5;
constexpr std::size_t kBlock = 4;
// Larger scores or couplings mean certainty, and sums with them would lose the digits that matter.
constexpr double kModerate = 1e6;

std::size_t round_down(std::size_t k) { return k / kLanes * kLanes; }
std::size_t round_up(std::size_t k) { return (k + kLanes - 1) / kLanes * kLanes; }

LABELWEAVE_INLINE Lanes positive(const Lanes& x) { return select(x > 0.0, x, broadcast(0.0)); }

// The entropy of a coin whose log-odds are z and whose probability is p.
double entropy(double z, double p) { return log1pexp(z) - p * z; }

}  // namespace

// ---------------------------------------------------------------------------------------------- the row

void OpenRow::load(const Coupling& couplings, std::size_t row, const std::int8_t* labels) {
    unknown_.clear();
    values_.clear();
    scores_.clear();
    coupling_.clear();
    constant_ = 0.0;
    z_.resize(couplings.stride());
    couplings.load(row, z_.data());
    for (std::size_t p = 0; p < couplings.length(); ++p) {
        if (labels[couplings.label(p)] < 0) unknown_.push_back(p);
        if (labels[couplings.label(p)] > 0)
            add_effect(z_.data(), couplings.effect(p), p + 1, couplings.length(), z_.data());
    }
    stride_ = round_up(std::max<std::size_t>(unknown_.size(), 1));
    for (const std::size_t p : unknown_) add_term(couplings, p, z_.data());
    for (std::size_t p = 0; p < couplings.length(); ++p) {
        const int y = labels[couplings.label(p)];
        if (y < 0) continue;
        const bool open = std::any_of(unknown_.begin(), unknown_.end(),
                                      [&](std::size_t k) { return k < p && couplings.effect(k)[p] != 0.0; });
        if (open) {
            add_term(couplings, p, z_.data());
            values_.push_back(static_cast<std::int8_t>(y));
        } else {
            constant_ += bernoulli_log_prob(y, z_[p]);
        }
    }
}

void OpenRow::add_term(const Coupling& couplings, std::size_t position, const double* z) {
    scores_.push_back(z[position]);
    coupling_.resize(coupling_.size() + stride_, 0.0);
    double* coupling = coupling_.data() + coupling_.size() - stride_;
    for (std::size_t k = 0; k < unknown_.size() && unknown_[k] < position; ++k)
        coupling[k] = couplings.effect(unknown_[k])[position];
}

bool OpenRow::moderate() const {
    const auto small = [](double x) { return std::fabs(x) < kModerate; };
    return std::isfinite(constant_) && std::all_of(scores_.begin(), scores_.end(), small) &&
           std::all_of(coupling_.begin(), coupling_.end(), small);
}

// ---------------------------------------------------------------------------------------------- numbers

void PaddedMatrix::reset(std::size_t n_rows, std::size_t stride) {
    stride_ = stride;
    const std::size_t size = n_rows * stride / kLanes;
    if (numbers_.size() < size) numbers_ = LaneArray(size);
    std::fill_n(numbers_.numbers(), n_rows * stride, 0.0);
}

void AdamState::reset(std::size_t n_rows, std::size_t stride) {
    for (PaddedMatrix* rows : {&at, &mean, &square}) rows->reset(n_rows, stride);
}

// One step of Adam for all parameters: its length, and the corrections of the moments' bias.
struct Relaxation::AdamStep {
    AdamStep(std::size_t step, std::size_t n_steps) {
        const double left = 1.0 - static_cast<double>(step) / static_cast<double>(n_steps);
        length = kFirstStep * left + kLastStep;
        doubt = kFirstDoubt * left + kLastDoubt;
        mean_scale = 1.0 / (1.0 - std::pow(kMeanDecay, static_cast<double>(step)));
        square_scale = 1.0 / (1.0 - std::pow(kSquareDecay, static_cast<double>(step)));
    }

    LABELWEAVE_INLINE void move(double* at, double* mean, double* square, const Lanes& gradient,
                                double faster = 1.0) const {
        const Lanes m = kMeanDecay * load(mean) + (1.0 - kMeanDecay) * gradient;
        const Lanes q = kSquareDecay * load(square) + (1.0 - kSquareDecay) * gradient * gradient;
        store(mean, m);
        store(square, q);
        store(at, load(at) - faster * length * mean_scale * m / (square_root(square_scale * q) + 1e-8));
    }

    double length, doubt, mean_scale, square_scale;
};

// ---------------------------------------------------------------------------------------------- the bound

void Relaxation::fit(const OpenRow& row, std::size_t n_steps, threads::Interrupt& interrupt) {
    start(row);
    for (std::size_t step = 1; step <= n_steps; ++step) {
        interrupt.check();
        evaluate();
        descend(AdamStep(step, n_steps));
    }
    evaluate();
}

void Relaxation::start(const OpenRow& row) {
    row_ = &row;
    n_ = row.n_unknown();
    stride_ = row.stride();
    const std::size_t n_terms = row.n_terms(), padded = round_up(n_terms);
    split_.reset(n_terms, stride_);
    roots_.reset(n_ + kBlock, stride_);
    constants_.reset(1, stride_);
    tangents_.reset(2, padded);
    products_.reset(n_terms + kBlock, stride_);
    weights_.reset(stride_, stride_);
    gradients_.reset(n_ + kBlock, stride_);
    for (auto* numbers : {&u_, &v_, &one_, &zero_, &raised_, &lowered_, &chosen_}) numbers->assign(padded, 0.0);
    for (auto* numbers : {&own_, &own_square_, &unknown_}) numbers->assign(stride_, 0.0);
    for (std::size_t j = 0; j < n_terms; ++j) {
        double rise = 0.0, fall = 0.0;
        for (std::size_t k = 0; k < row.n_causes(j); ++k) {
            rise += std::max(0.0, row.coupling(j)[k]);
            fall += std::min(0.0, row.coupling(j)[k]);
        }
        // As if a third of all possible changes of the score occurred.
        tangents_.at[0][j] = -(row.score(j) + rise / 3.0);
        tangents_.at[1][j] = row.score(j) + fall / 3.0;
    }
    for (std::size_t a = 0; a < n_; ++a) {
        roots_.at[a][a] = kFirstRoot;
        constants_.at[0][a] = -kFirstRoot / 2.0;
    }
}

double Relaxation::at_score(std::size_t j, bool one) const {
    const double p = tangent(j, one);
    return (one ? p : -p) * row_->score(j) - entropy(tangents_.at[one ? 0 : 1][j], p);
}

void Relaxation::evaluate() {
    for (std::size_t j = 0; j < row_->n_terms(); ++j) {
        u_[j] = sigmoid(tangents_.at[0][j]);
        v_[j] = sigmoid(tangents_.at[1][j]);
    }
    add_squares();
    own_ = own_square_;
    for (std::size_t j = 0; j < row_->n_terms(); ++j) evaluate_term(j);
    for (std::size_t j = 0; j < n_; ++j) one_[j] += own_[j];
}

LABELWEAVE_KERNEL void Relaxation::add_squares() {
    constant_square_ = 0.0;
    std::fill(own_square_.begin(), own_square_.end(), 0.0);
    for (std::size_t a = 0; a < n_; ++a) {
        const double c = constants_.at[0][a];
        const double* root = roots_.at[a];
        constant_square_ += c * c;
        for (std::size_t k = round_down(a); k < stride_; k += kLanes)
            store(&own_square_[k], load(&own_square_[k]) + load(root + k) * (load(root + k) + 2.0 * c));
    }
    for (std::size_t j = 0; j < n_; j += kBlock) multiply_roots(j);
}

// products of a few labels: tiles of sums that stay in registers.
LABELWEAVE_KERNEL void Relaxation::multiply_roots(std::size_t first) {
    for (std::size_t k = 0; k < first + kBlock && k < stride_; k += kLanes) {
        Lanes sums[kBlock] = {broadcast(0.0), broadcast(0.0), broadcast(0.0), broadcast(0.0)};
        // Column a of the roots begins at label a.
        const std::size_t end = std::min({k + kLanes, first + kBlock, n_});
        for (std::size_t a = 0; a < end; ++a) {
            const double* root = roots_.at[a];
            const Lanes x = load(root + k);
            for (std::size_t i = 0; i < kBlock; ++i) sums[i] += root[first + i] * x;
        }
        for (std::size_t i = 0; i < kBlock; ++i) store(products_[first + i] + k, 2.0 * sums[i]);
    }
    for (std::size_t i = 0; i < kBlock && first + i < row_->n_terms(); ++i) {
        const std::size_t j = first + i;
        const std::size_t begin = j < n_ ? j : 0;
        std::fill(products_[j] + begin, products_[j] + stride_, 0.0);
    }
}

LABELWEAVE_KERNEL void Relaxation::evaluate_term(std::size_t j) {
    const double *coupling = row_->coupling(j), *split = split_.at[j], *products = products_[j];
    const double u = u_[j], v = v_[j];
    Lanes one = broadcast(0.0), zero = one, raised = one, lowered = one;
    for (std::size_t k = 0; k < row_->n_causes(j); k += kLanes) {
        const Lanes w = load(coupling + k), l = load(split + k);
        const Lanes if_one = u * w + l + load(products + k), if_zero = l - v * w;
        one += positive(if_one);
        zero += positive(if_zero);
        raised += select(if_one > 0.0, w, broadcast(0.0));
        lowered += select(if_zero > 0.0, w, broadcast(0.0));
        store(&own_[k], load(&own_[k]) - l);
    }
    one_[j] = at_score(j, true) + sum(one);
    zero_[j] = at_score(j, false) + sum(zero);
    raised_[j] = sum(raised);
    lowered_[j] = sum(lowered);
}

// ---------------------------------------------------------------------------------------------- its gradient

void Relaxation::descend(const AdamStep& adam) {
    const std::size_t n_terms = row_->n_terms();
    for (std::size_t j = 0; j < n_terms; ++j)
        chosen_[j] = row_->value(j) < 0 ? sigmoid((one_[j] - zero_[j]) / adam.doubt) : row_->value(j);
    std::copy_n(chosen_.begin(), n_, unknown_.begin());
    for (std::size_t j = 0; j < n_terms; ++j) descend_split(j, adam);
    descend_roots(adam);
    // The gradients of the tangents overwrite their inputs.
    for (std::size_t j = 0; j < n_terms; ++j) {
        const double y = chosen_[j], s = row_->score(j);
        raised_[j] = y * (s + tangents_.at[0][j] + raised_[j]) * u_[j] * (1.0 - u_[j]);
        lowered_[j] = (1.0 - y) * (tangents_.at[1][j] - s - lowered_[j]) * v_[j] * (1.0 - v_[j]);
    }
    for (std::size_t j = 0; j < n_terms; j += kLanes) {
        const auto move = [&](std::size_t which, const double* gradient) {
            adam.move(tangents_.at[which] + j, tangents_.mean[which] + j, tangents_.square[which] + j, load(gradient),
                      kTangentFactor);
        };
        move(0, &raised_[j]);
        move(1, &lowered_[j]);
    }
}

LABELWEAVE_KERNEL void Relaxation::descend_split(std::size_t j, const AdamStep& adam) {
    const double *coupling = row_->coupling(j), *products = products_[j];
    double *split = split_.at[j], *mean = split_.mean[j], *square = split_.square[j];
    const double u = u_[j], v = v_[j], y = chosen_[j];
    const std::size_t end = row_->n_causes(j);
    for (std::size_t k = 0; k < end; k += kLanes) {
        const Lanes w = load(coupling + k), l = load(split + k);
        const Lanes one = select(u * w + l + load(products + k) > 0.0, broadcast(y), broadcast(0.0));
        const Lanes zero = select(l - v * w > 0.0, broadcast(1.0 - y), broadcast(0.0));
        adam.move(split + k, mean + k, square + k, one + zero - load(&unknown_[k]));
        if (j < n_) store(weights_[j] + k, one);
    }
    std::fill(split + end, split + stride_, 0.0);
    if (j >= n_) return;
    double* weights = weights_[j];
    for (std::size_t k = 0; k < end; ++k) weights_[k][j] = weights[k];
    weights[j] = y;
}

LABELWEAVE_KERNEL void Relaxation::descend_roots(const AdamStep& adam) {
    for (std::size_t a = 0; a < n_; a += kBlock) gradient_of_roots(a);
    for (std::size_t a = 0; a < n_; ++a) {
        const double c = constants_.at[0][a];
        double* root = roots_.at[a];
        Lanes along = broadcast(0.0);
        for (std::size_t k = round_down(a); k < stride_; k += kLanes) {
            const Lanes y = load(&unknown_[k]);
            along += y * load(root + k);
            adam.move(root + k, roots_.mean[a] + k, roots_.square[a] + k, 2.0 * (load(gradients_[a] + k) + c * y));
        }
        std::fill(root + round_down(a), root + a, 0.0);
        gradients_[n_][a] = 2.0 * (c + sum(along));
    }
    for (std::size_t a = 0; a < n_; a += kLanes)
        adam.move(constants_.at[0] + a, constants_.mean[0] + a, constants_.square[0] + a, load(gradients_[n_] + a));
}

// Weights times a few columns of the roots.
LABELWEAVE_KERNEL void Relaxation::gradient_of_roots(std::size_t first) {
    for (std::size_t j = round_down(first); j < stride_; j += kLanes) {
        Lanes sums[kBlock] = {broadcast(0.0), broadcast(0.0), broadcast(0.0), broadcast(0.0)};
        for (std::size_t k = first; k < n_; ++k) {
            const Lanes w = load(weights_[k] + j);
            for (std::size_t i = 0; i < kBlock; ++i) sums[i] += roots_.at[first + i][k] * w;
        }
        for (std::size_t i = 0; i < kBlock; ++i) store(gradients_[first + i] + j, sums[i]);
    }
}

}  // namespace labelweave::chain
