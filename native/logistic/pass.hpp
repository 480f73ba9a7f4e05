// The two kinds of pass that run_pass chooses from.
#pragma once

#include "design/design.hpp"
#include "threads/thread_team.hpp"

namespace labelweave {

// responses: n_rows.
void sparse_pass(const Pass& pass, Lanes* responses, Lanes* gradient, Tally& tally);

// Room a dense pass needs, in Lanes.
std::size_t dense_room(const Design& design);
void dense_pass(const Pass& pass, Team& team, Lanes* room, Lanes* gradient, Tally& tally);

}  // namespace labelweave
