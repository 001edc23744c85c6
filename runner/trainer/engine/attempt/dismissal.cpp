#include "engine/attempt/dismissal.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/error_file.h"
#include "base/log.h"
#include "engine/attempt/meeting_words.h"
#include "engine/attempt/restarts.h"

namespace exprun {

namespace {

using nlohmann::json;

constexpr std::chrono::seconds kHearing{5};
constexpr std::chrono::seconds kGrace{1};  // for ranks of which nothing is known

json to_json(const Dismissal& dismissal) {
  return {{"dismissed", static_cast<int>(dismissal.code)}, {"why", dismissal.why}};
}

// Those that come for certain: they wait, or were started beside rank 0.
std::vector<int> certain_ranks(Rendezvous& rendezvous) {
  const int ranks_here = rendezvous.place().ranks_here;
  std::vector<int> ranks = ranks_from(1, rendezvous);
  std::erase_if(ranks, [&](int rank) {
    return rank >= ranks_here && !rendezvous.has(meeting_words::reply_key(rank));
  });
  return ranks;
}

// Once on each machine that has not heard rank 0 itself.
void show_why(const RankPlace& place, const std::string& why) {
  if (place.local_rank == 0) log(LogLevel::error, "rank 0 says: " + why.substr(0, why.find('\n')));
}

}  // namespace

void dismiss(Rendezvous& rendezvous, const Dismissal& dismissal) {
  const RankPlace& place = rendezvous.place();
  meeting_words::say(rendezvous, meeting_words::kHandOver, to_json(dismissal));
  // Its launcher has started none beside it.
  wait_until_heard(rendezvous, ranks_from(place.ranks_here, rendezvous), place.meeting_timeout);
}

void call_off(Rendezvous& rendezvous, const Dismissal& dismissal) {
  meeting_words::say(rendezvous, meeting_words::kHandOver, to_json(dismissal));
  meeting_words::say(rendezvous, meeting_words::kVerdict, to_json(dismissal));
  wait_for_who_hears(rendezvous, ranks_from(1, rendezvous), kGrace);
  wait_for_who_hears(rendezvous, certain_ranks(rendezvous), kHearing);
}

void refuse(Rendezvous& rendezvous, const std::string& problem) {
  meeting_words::say(rendezvous, meeting_words::kVerdict, {{"problem", problem}});
  wait_for_who_hears(rendezvous, ranks_from(1, rendezvous), kHearing);
  throw Error(problem, ExitCode::lost_ranks);
}

std::optional<Dismissal> dismissal_in(const json& word) {
  if (!word.contains("dismissed")) return std::nullopt;
  return Dismissal{static_cast<ExitCode>(word["dismissed"].get<int>()), word.at("why")};
}

ExitCode leave(Rendezvous& rendezvous, const Dismissal& dismissal) {
  const RankPlace& place = rendezvous.place();
  if (!dismissal.why.empty()) {
    write_error_file(dismissal.why);
    show_why(place, dismissal.why);
  }
  forbid_restarts(place);
  rendezvous.set(meeting_words::heard_key(place.rank), "");
  return dismissal.code;
}

}  // namespace exprun
