// What the ranks above 0 reply to the hand-over, and what rank 0 makes of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/signals.h"
#include "dist/rendezvous.h"
#include "engine/attempt/gpu_agreement.h"

namespace exprun {

struct Reply {
  std::string process;  // one is told from another that is started as the same rank
  std::string problem;  // why it cannot take part
  GpuClaim gpu;
};

// Of all ranks, rank 0's the first of them, or why they are not there.
struct Replies {
  StopRequest stop = StopRequest::none;  // came before the last of them
  std::string problem;                   // of the first rank that has one
  std::vector<Reply> of_rank;
};

// As rank 0. A rank that has replied may have died before the last one came, or have been started
// again: all are asked once more, until they reply in one breath. Throws Error when some do not
// come; the others have been called off then.
Replies replies_of_all(Rendezvous& rendezvous, GpuClaim own);

// On a rank above 0: replies, as often as rank 0 asks, until there is a verdict. Nothing where rank
// 0 has begun another life before it had one.
std::optional<nlohmann::json> verdict_on(const Reply& reply, Rendezvous& rendezvous);

}  // namespace exprun
