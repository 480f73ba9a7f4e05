// The steps of learning from one row, for any contiguous part of the labels; labels come in blocks of 16: load the
// factors, match moments (and pass messages to a bias that labels share), write the posterior back to the weights.
#pragma once

#include <cstdint>
#include <vector>

#include "online/message_exchange.hpp"
#include "online/model.hpp"
#include "online/prepared_rows.hpp"

namespace labelweave::online {

// The state of a row while threads work on it, labels in lanes.
struct Workspace {
    explicit Workspace(const Model& model)
        : n_lanes(2 * label_blocks(model)), mean(n_lanes), variance(n_lanes), sign(n_lanes), margin(n_lanes),
          known(n_lanes), precision(n_lanes), weighted_mean(n_lanes), positives(n_lanes), observed(n_lanes),
          bias(n_lanes), bias_variance(n_lanes), gradient(n_lanes), curvature(n_lanes),
          float_gradient(n_lanes * kLanes), float_curvature(n_lanes * kLanes) {}
    std::size_t n_lanes;
    LaneArray mean, variance, sign, margin, known;
    LaneArray precision, weighted_mean;  // the sites: messages to the bias that coupled labels share
    LaneArray positives, observed;
    LaneArray bias, bias_variance;  // of the independent model
    LaneArray gradient, curvature;  // of log Z, and their copies for the weights
    std::vector<float> float_gradient, float_curvature;
};

inline double* numbers(LaneArray& lanes) { return reinterpret_cast<double*>(lanes.data()); }

// The factors of the labels in blocks [first, last); counts the labels on the way.
void load_factors(const Model& model, const Settings& settings, const std::int8_t* labels, std::size_t first,
                  std::size_t last, Workspace& work);

// Labels with a bias each: one truncation per label, in closed form, and no loop.
void update_independent(const Settings& settings, std::size_t first, std::size_t last, Workspace& work);

// One round of expectation propagation, in parallel: every factor sends its message, computed from the bias of the
// round before. The products of the messages of each block go to sums[0], sums[1], ...
void send_messages(const Settings& settings, const NaturalGaussian& prior, const NaturalGaussian& bias,
                   std::size_t first, std::size_t last, NaturalGaussian* sums, Workspace& work);

// Moves the weights of the row's features by the matched moments: mean += variance x gradient, and variance loses
// variance^2 x^2 curvature.
void write_back(const Model& model, const PreparedRows& rows, std::size_t row, float prior, std::size_t first,
                std::size_t last, Workspace& work);

}  // namespace labelweave::online
