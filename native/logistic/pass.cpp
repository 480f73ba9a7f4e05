#include "logistic/pass.hpp"

namespace labelweave {

std::size_t pass_room(const Design& design) { return design.dense ? dense_room(design) : design.n_rows; }

void run_pass(const Pass& pass, Team& team, Lanes* room, Lanes* gradient, Tally& tally) {
    if (pass.design.dense)
        dense_pass(pass, team, room, gradient, tally);
    else
        sparse_pass(pass, room, gradient, tally);
}

}  // namespace labelweave
