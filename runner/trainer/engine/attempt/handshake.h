// How a rank above 0 comes to the meeting with rank 0.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dist/rendezvous.h"

namespace exprun {

// Waits for a round of rank 0 that this rank can take part in, as long as somebody listens where
// rank 0 is to be: its launcher does from its start on, though an hour of data may be to prepare.
// Ranks that were started anew may find rank 0 of their earlier attempt, which is just ending: they
// then meet the next one. Throws Error when for too long (RankPlace) nobody listens there, who
// listens makes no sense, or the ranks there have begun without this one.
std::unique_ptr<Rendezvous> meet_rank_0(const RankPlace& place);

// In the store of another launcher: rank 0 has begun another round before the present one came to
// anything.
void meet_again(Rendezvous& rendezvous);

// What the ranks of one round leave for each other where they meet, as JSON under fixed keys.

namespace handshake_keys {

// Rank 0's first word: how to train (hand_over.h), or a notice of shutdown (shutdown_barrier.h).
inline constexpr const char* kHandOver = "hand-over";

// Its second, after what the others reply: that they begin, why none does, or a
// dismissal.
inline constexpr const char* kVerdict = "verdict";

std::string reply_key(int rank);
std::string heard_key(int rank);  // the rank knows why none begins, and ends

// As rank 0. The job of its launcher stands beside it.
void say(Rendezvous& rendezvous, const char* key, nlohmann::json message);

nlohmann::json heard(Rendezvous& rendezvous, const char* key);

bool begins(const nlohmann::json& verdict);

}  // namespace handshake_keys

// Those from the first one on.
std::vector<int> ranks_from(int first, const Rendezvous& rendezvous);

// Rank 0 serves the rendezvous: when none begins it must not leave before the others know. Throws
// Error when they do not come in time.
void wait_until_heard(Rendezvous& rendezvous, const std::vector<int>& ranks,
                      std::chrono::milliseconds patience);

// The same where a rank may be gone already: why none begins is more worth saying.
void wait_for_who_hears(Rendezvous& rendezvous, const std::vector<int>& ranks,
                        std::chrono::milliseconds patience);

}  // namespace exprun
