// What learning from one row consists of, for any contiguous part of the labels; labels come in blocks of 16.
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
          bias(n_lanes), bias_variance(n_lanes), pull(n_lanes), certainty(n_lanes), float_pull(n_lanes * kLanes),
          float_certainty(n_lanes * kLanes) {}
    std::size_t n_lanes;
    LaneArray mean, variance, sign, margin, known;
    LaneArray precision, weighted_mean;  // messages to the coupled bias
    LaneArray positives, observed;
    LaneArray bias, bias_variance;  // of the independent model
    LaneArray pull, certainty;      // the answers, and their copies for the weights
    std::vector<float> float_pull, float_certainty;
};

inline double* numbers(LaneArray& lanes) { return reinterpret_cast<double*>(lanes.data()); }

// What the labels of the blocks [first, last) are asked; counts them on the way.
void read_labels(const Model& model, const Settings& settings, const std::int8_t* labels,
                 std::size_t first, std::size_t last, Workspace& work);

// Every label on its own, biases included: one truncation, in closed form.
void answer_alone(const Settings& settings, std::size_t first, std::size_t last, Workspace& work);

// One round of messages between the labels and the bias, all from the bias of the round before; what each block
// tells the bias goes to sums[0], sums[1], ...
void answer_together(const Settings& settings, const NaturalGaussian& prior, const NaturalGaussian& bias, std::size_t first,
                     std::size_t last, NaturalGaussian* sums, Workspace& work);

// Moves the weights of the row's features by the answers.
void write_back(const Model& model, const PreparedRows& rows, std::size_t row, float prior, std::size_t first,
                std::size_t last, Workspace& work);

}  // namespace labelweave::online
