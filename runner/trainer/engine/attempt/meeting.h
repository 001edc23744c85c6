// How a rank above 0 comes to the meeting with rank 0.
#pragma once

#include <memory>

#include "dist/rendezvous.h"

namespace exprun {

// Waits for a life of rank 0 that this rank can take part in, as long as somebody listens where
// rank 0 is to be: its launcher does from its start on, though an hour of data may be to prepare.
// Ranks that were started anew may find rank 0 of their former life, which is just ending: they
// then meet the next one. Throws Error when for too long (RankPlace) nobody listens there, who
// listens makes no sense, or the ranks there have begun without this one.
std::unique_ptr<Rendezvous> meet_rank_0(const RankPlace& place);

// In the store of another launcher: rank 0 has begun another life before the present one came to
// anything.
void meet_again(Rendezvous& rendezvous);

}  // namespace exprun
