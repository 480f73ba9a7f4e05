#include "logistic/pass.hpp"

namespace labelweave::logistic {

std::size_t pass_room(const design::Design& design) { return design.dense ? dense_room(design) : sparse_room(design); }

void run_pass(const Pass& pass, threads::ThreadTeam& team, Lanes* room, Lanes* gradient, Tally& tally) {
    if (pass.design.dense)
        dense_pass(pass, team, room, gradient, tally);
    else
        sparse_pass(pass, room, gradient, tally);
}

}  // namespace labelweave::logistic
