#include "engine/attempt/replies.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "engine/attempt/dismissal.h"
#include "engine/attempt/meeting_words.h"

namespace exprun {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForReplies{10};
constexpr std::chrono::milliseconds kLookForVerdict{
    50};  // of ranks that may wait long, all at one server
constexpr std::chrono::seconds kBreath{2};

std::string listed(const std::vector<int>& ranks) {
  std::string text = "rank ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

std::vector<int> missing_ranks(Rendezvous& rendezvous) {
  std::vector<int> ranks = ranks_from(1, rendezvous);
  std::erase_if(ranks, [&](int rank) { return rendezvous.has(meeting_words::reply_key(rank)); });
  return ranks;
}

// A launcher that starts all has failed; people who start machines may be late.
[[noreturn]] void give_up(Rendezvous& rendezvous) {
  const RankPlace& place = rendezvous.place();
  const std::string text = "dist: rank 0 of " + std::to_string(place.world_size) +
                           " cannot meet the others at " + place.address + ":" +
                           std::to_string(place.port) + ": after " +
                           std::to_string(place.meeting_timeout.count() / 1000) +
                           " s there is no " + listed(missing_ranks(rendezvous));
  const bool by_people = !place.joined && place.ranks_here < place.world_size;
  const ExitCode code = by_people ? ExitCode::preempted : ExitCode::lost_ranks;
  call_off(rendezvous, {code, text});
  throw Error(text, code);
}

// One round of asking all.
class Round {
 public:
  Round(Rendezvous& rendezvous, bool is_first) : rendezvous_(rendezvous), is_first_(is_first) {}

  bool in_one_breath() const { return Clock::now() - began_ < kBreath; }

  Replies replies(const GpuClaim& own) {
    Replies all{StopRequest::none, "", {{"", "", own}}};
    for (int rank = 1; rank < rendezvous_.place().world_size; ++rank) {
      all.stop = await(rank);
      if (all.stop != StopRequest::none) return all;
      const json said = parse_json<json>(rendezvous_.get(meeting_words::reply_key(rank)));
      all.of_rank.push_back({said.at("process"), said.at("problem"), said.at("gpu")});
      all.problem = all.of_rank.back().problem;
      if (!all.problem.empty()) return all;
    }
    return all;
  }

 private:
  StopRequest await(int rank) {
    while (!rendezvous_.has(meeting_words::reply_key(rank))) {
      if (const auto stop = stop_requested(); stop != StopRequest::none) return stop;
      if (Clock::now() > began_ + rendezvous_.place().meeting_timeout) give_up(rendezvous_);
      if (!is_first_ && !in_one_breath()) say_who_is_gone();
      std::this_thread::sleep_for(kLookForReplies);
    }
    return StopRequest::none;
  }

  void say_who_is_gone() {
    if (has_said_it_) return;
    has_said_it_ = true;
    log_warning("dist: " + listed(missing_ranks(rendezvous_)) +
                " has come and is gone: the others wait until it is started again");
  }

  Rendezvous& rendezvous_;
  const bool is_first_;
  const Clock::time_point began_ = Clock::now();
  bool has_said_it_ = false;
};

}  // namespace

Replies replies_of_all(Rendezvous& rendezvous, GpuClaim own) {
  for (bool is_first = true;; is_first = false) {
    Round round(rendezvous, is_first);
    Replies replies = round.replies(own);
    if (replies.stop != StopRequest::none || !replies.problem.empty()) return replies;
    if (!is_first && round.in_one_breath()) return replies;
    for (const int rank : ranks_from(1, rendezvous))
      rendezvous.forget(meeting_words::reply_key(rank));
  }
}

std::optional<json> verdict_on(const Reply& reply, Rendezvous& rendezvous) {
  const std::string key = meeting_words::reply_key(rendezvous.place().rank);
  const std::string text =
      json_text(json{{"process", reply.process}, {"problem", reply.problem}, {"gpu", reply.gpu}},
                -1, NotUtf8::replaced);
  for (rendezvous.set(key, text); !rendezvous.has(meeting_words::kVerdict);
       std::this_thread::sleep_for(kLookForVerdict)) {
    if (!rendezvous.is_newest_life()) return std::nullopt;
    if (!rendezvous.has(key)) rendezvous.set(key, text);
  }
  return meeting_words::heard(rendezvous, meeting_words::kVerdict);
}

}  // namespace exprun
