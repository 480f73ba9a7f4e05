// The logistic loss of a set of rows along a search direction.
#pragma once

#include <cstddef>
#include <vector>

#include "simd/lanes.hpp"

namespace labelweave::edges {

// Rows of one target, padded to whole Lanes by rows without weight.
struct TargetRows {
    std::vector<double> target, weight;

    std::size_t size() const { return target.size(); }
};

struct LineDerivatives {
    double slope = 0, curvature = 0;  // derivatives of the loss along the line
};

// Residuals and curvatures at score + alpha * change, and their sums along the line.
void evaluate_line(const TargetRows& rows, const double* score, const double* change, double alpha, double* residual,
                   double* curvature, LineDerivatives& sums);

// Log-likelihood of the rows, and their residuals.
double log_likelihood(const TargetRows& rows, const double* score, double* residual);

}  // namespace labelweave::edges
