// An upper bound on the log-probability of all label vectors of a row, for flat chains of many labels.
//
// A chain is log P(y) = sum_j log P(y_j | z_j) with z_j = s_j + sum_{k<j} V_jk y_k. Three steps, each of which can only
// raise it, make it a sum of terms of single labels, which is maximised label by label:
//
//   tangents  log P(1 | z) <= u z - H(u) and log P(0 | z) <= -v z - H(v) for all u and v in [0, 1], H the entropy of a
//             coin: what is left is quadratic in the labels;
//   squares   (c_a + sum_k R_ka y_k)^2 >= 0 is added for all a: couplings of many labels that do not fit together
//             cancel against the products, and y_k^2 = y_k;
//   splits    L_jk y_k is added to the term of label j and taken off that of label k, and then each product is replaced
//             by its larger value: y_j = 1 gets max(0, u_j V_jk + L_jk + 2 sum_a R_ja R_ka), y_j = 0 gets
//             max(0, L_jk - v_j V_jk).
//
// The bound holds for all u, v, R and L. A fixed number of gradient steps lowers it, and it need not reach the minimum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chain/coupling.hpp"
#include "simd/lanes.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::chain {

// The open part of a row given evidence: the first terms are the unknown labels in chain order, the last terms are the
// known labels that depend on them. Term j depends on the unknown labels k < n_causes(j).
class OpenRow {
  public:
    // labels: the evidence, -1 for unknown.
    void load(const Coupling& couplings, std::size_t row, const std::int8_t* labels);
    std::size_t n_unknown() const { return unknown_.size(); }
    std::size_t n_terms() const { return scores_.size(); }
    std::size_t n_causes(std::size_t j) const { return j < n_unknown() ? j : n_unknown(); }
    std::size_t stride() const { return stride_; }
    std::size_t position(std::size_t k) const { return unknown_[k]; }
    double score(std::size_t j) const { return scores_[j]; }
    const double* coupling(std::size_t j) const { return coupling_.data() + j * stride_; }
    // The value of term j's label, -1 if it is unknown.
    int value(std::size_t j) const { return j < n_unknown() ? -1 : values_[j - n_unknown()]; }
    // The log-probability of the known labels that no unknown one influences.
    double constant() const { return constant_; }
    // Whether no sum over this row can overflow, or lose all digits.
    bool moderate() const;

  private:
    void add_term(const Coupling& couplings, std::size_t position, const double* z);

    std::size_t stride_ = 0;
    double constant_ = 0.0;
    std::vector<std::size_t> unknown_;
    std::vector<std::int8_t> values_;
    std::vector<double> scores_, coupling_, z_;
};

// A matrix whose rows are padded to whole SIMD vectors, zero at first.
class PaddedMatrix {
  public:
    void reset(std::size_t n_rows, std::size_t stride);
    double* operator[](std::size_t row) { return numbers_.numbers() + row * stride_; }
    const double* operator[](std::size_t row) const {
        return reinterpret_cast<const double*>(numbers_.data()) + row * stride_;
    }

  private:
    std::size_t stride_ = 0;
    LaneArray numbers_;
};

// Parameters of the bound, and Adam's moments of their gradients (Kingma and Ba, 2015).
struct AdamState {
    void reset(std::size_t n_rows, std::size_t stride);
    PaddedMatrix at, mean, square;
};

class Relaxation {
  public:
    // Lower the bound of an open row by n_steps steps.
    void fit(const OpenRow& row, std::size_t n_steps, threads::Interrupt& interrupt);

    double tangent(std::size_t j, bool one) const { return one ? u_[j] : v_[j]; }
    // u_j s_j - H(u_j), or -v_j s_j - H(v_j).
    double at_score(std::size_t j, bool one) const;
    const double* split(std::size_t j) const { return split_.at[j]; }
    // 2 sum_a R_ja R_ka of unknown labels k < j; sum_a R_ka (R_ka + 2 c_a); and sum_a c_a^2.
    const double* products(std::size_t j) const { return products_[j]; }
    double own_square(std::size_t k) const { return own_square_[k]; }
    double constant_square() const { return constant_square_; }

  private:
    struct AdamStep;
    void start(const OpenRow& row);
    void evaluate();
    void add_squares();
    void multiply_roots(std::size_t first);
    void evaluate_term(std::size_t j);
    void descend(const AdamStep& adam);
    void descend_split(std::size_t j, const AdamStep& adam);
    void descend_roots(const AdamStep& adam);
    void gradient_of_roots(std::size_t first);

    const OpenRow* row_ = nullptr;
    std::size_t n_ = 0, stride_ = 0;
    AdamState split_, roots_, constants_, tangents_;  // L; R by columns; c; log-odds of u and v
    PaddedMatrix products_, weights_, gradients_;
    // By term: the tangents, the value of either label, how much of it label 1 gets, and the couplings it counts on.
    std::vector<double> u_, v_, one_, zero_, chosen_, raised_, lowered_;
    std::vector<double> own_, own_square_, unknown_;  // of unknown labels; the last are those of chosen_
    double constant_square_ = 0.0;
};

}  // namespace labelweave::chain
