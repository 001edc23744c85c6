// How a rank above 0 joins rank 0 at the rendezvous, and the messages of the handshake that
// follows.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dist/rendezvous.h"

namespace exprun {

// Waits for a round of rank 0 that this rank can take part in, as long as a process listens at rank
// 0's address: its launcher listens from its start on, though data may take an hour to prepare.
// Ranks that were restarted may find rank 0 of their earlier attempt, which is just ending: they
// then join the next one. Throws Error when for too long (RankPlace) no process listens there, the
// one that listens does not send what it should, or the ranks there have begun without this one.
std::unique_ptr<Rendezvous> join_rank_0(const RankPlace& place);

// The same in the store of an external launcher, after rank 0 has begun another round before there
// was a decision in the present one.
void join_next_round(Rendezvous& rendezvous);

// What the ranks of one round send each other, as JSON under fixed keys of the rendezvous.

namespace handshake_keys {

// Rank 0's first message: how to train (hand_over.h), or a shutdown notice (shutdown_barrier.h).
inline constexpr const char* kHandOver = "hand-over";

// Its second, once the others have replied: that training starts, why it does not, or a shutdown
// notice.
inline constexpr const char* kDecision = "decision";

std::string reply_key(int rank);
std::string acknowledgment_key(int rank);  // the rank has the decision or the notice

// As rank 0. Adds the job of its launcher to the message.
void send(Rendezvous& rendezvous, const char* key, nlohmann::json message);

nlohmann::json received(Rendezvous& rendezvous, const char* key);

bool starts_training(const nlohmann::json& decision);

}  // namespace handshake_keys

// From `first` to the last one.
std::vector<int> ranks_from(int first, const Rendezvous& rendezvous);

// As rank 0, when training does not start: it serves the rendezvous, so it must not leave before
// the others know. Throws Error when one does not acknowledge in time.
void wait_until_acknowledged(Rendezvous& rendezvous, const std::vector<int>& ranks,
                             std::chrono::milliseconds patience);

// The same without an error: a rank may be gone already, and the reason why training does not start
// matters more.
void wait_for_acknowledgments(Rendezvous& rendezvous, const std::vector<int>& ranks,
                              std::chrono::milliseconds patience);

}  // namespace exprun
