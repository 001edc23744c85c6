// What the ranks of one life leave for each other where they meet, as JSON under fixed keys.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dist/rendezvous.h"

namespace exprun {

namespace meeting_words {

// Rank 0's first word: how to train (hand_over.h), or a dismissal (dismissal.h).
inline constexpr const char* kHandOver = "hand-over";

// Its second, behind what the others reply (replies.h): that they begin, why none does, or a
// dismissal.
inline constexpr const char* kVerdict = "verdict";

std::string reply_key(int rank);
std::string heard_key(int rank);  // the rank knows why none begins, and ends

// As rank 0. The job of its launcher stands beside it.
void say(Rendezvous& rendezvous, const char* key, nlohmann::json message);

nlohmann::json heard(Rendezvous& rendezvous, const char* key);

bool begins(const nlohmann::json& verdict);

}  // namespace meeting_words

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
