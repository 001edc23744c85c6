#include "engine/attempt/handshake.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "dist/failure.h"
#include "dist/liveness.h"

namespace exprun {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForHearing{10};

}  // namespace

namespace handshake_keys {

std::string reply_key(int rank) {
  return "reply/" + std::to_string(rank);
}

std::string heard_key(int rank) {
  return "heard/" + std::to_string(rank);
}

void say(Rendezvous& rendezvous, const char* key, json message) {
  message["job"] = rendezvous.place().job;
  rendezvous.set(key, json_text(message, -1, NotUtf8::replaced));
}

json heard(Rendezvous& rendezvous, const char* key) {
  return parse_json<json>(rendezvous.get(key));
}

bool begins(const json& verdict) {
  return verdict.contains("device");
}

}  // namespace handshake_keys

std::vector<int> ranks_from(int first, const Rendezvous& rendezvous) {
  std::vector<int> ranks;
  for (int rank = first; rank < rendezvous.place().world_size; ++rank) ranks.push_back(rank);
  return ranks;
}

void wait_until_heard(Rendezvous& rendezvous, const std::vector<int>& ranks,
                      std::chrono::milliseconds patience) {
  const auto late = Clock::now() + patience;
  for (const int rank : ranks)
    while (!rendezvous.has(handshake_keys::heard_key(rank))) {
      if (Clock::now() > late)
        throw Error("dist: rank " + std::to_string(rank) + " did not join within " +
                    std::to_string(patience.count() / 1000) + " s");
      std::this_thread::sleep_for(kLookForHearing);
    }
}

void wait_for_who_hears(Rendezvous& rendezvous, const std::vector<int>& ranks,
                        std::chrono::milliseconds patience) {
  try {
    wait_until_heard(rendezvous, ranks, patience);
  } catch (const Error&) {
    log(LogLevel::debug, "a rank did not receive the message that training does not start");
  }
}

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForRank0{200};
constexpr std::chrono::hours kNoLimit{24};  // then it begins again
constexpr std::chrono::seconds kSilence{60};
constexpr std::chrono::seconds kMoment{1};  // longer than who makes no sense needs to say it

std::string where(const RankPlace& place) {
  return place.address + ":" + std::to_string(place.port);
}

std::string who(const RankPlace& place) {
  return "rank " + std::to_string(place.rank) + " of " + std::to_string(place.world_size);
}

// That of another job may have had the port first.
void require_own_job(const RankPlace& place, const json& word) {
  const std::string job = word.value("job", "");
  if (job != place.job)
    throw Error("dist: rank 0 at " + where(place) + " belongs to job '" + job +
                    "', but this rank belongs to job '" + place.job +
                    "'; use a different MASTER_PORT for each job",
                ExitCode::lost_ranks);
}

// Whether this rank can still take part: no former process of its has heard that none
// begins, and the others have not begun.
bool is_open(Rendezvous& rendezvous) {
  if (rendezvous.has(handshake_keys::heard_key(rendezvous.place().rank))) return false;
  return !rendezvous.has(handshake_keys::kVerdict) ||
         !handshake_keys::begins(handshake_keys::heard(rendezvous, handshake_keys::kVerdict));
}

// What keeps a rank from the meeting. The same for too long is an error.
class Obstacle {
 public:
  explicit Obstacle(const RankPlace& place) : place_(place) {}

  void is_absence() {
    if (is_too_long(Kind::absence)) throw Error(absence());
  }

  // Whether it has been one for too long.
  bool is_failure(const Error& error) {
    log(LogLevel::debug, error.what());
    return is_too_long(Kind::failure);
  }

  void is_that_others_have_begun() {
    const std::string there =
        "rank " + std::to_string(place_.rank) + " has already joined at " + where(place_);
    if (kind_ != Kind::begun && place_.local_rank == 0)
      log_warning("dist: " + there + "; this process waits until all ranks are restarted");
    if (is_too_long(Kind::begun))
      throw Error("dist: " + there + "; start each rank only once", ExitCode::lost_ranks);
  }

  // Somebody has listened for so long, for whom this rank waits.
  void is_none(Clock::duration time) {
    if (time < kMoment) return;
    kind_ = Kind::none;
    was_there_ = true;
    if (time < kSilence || has_spoken_ || place_.local_rank > 0) return;
    has_spoken_ = true;
    log_warning("dist: " + who(place_) + " is waiting: the process that listens at " +
                where(place_) + " has sent nothing for " + std::to_string(kSilence.count()) +
                " s; rank 0 may be preparing data, or another program may be using the port");
  }

 private:
  enum class Kind { none, absence, failure, begun };

  bool is_too_long(Kind kind) {
    if (kind_ != kind) since_ = Clock::now();
    kind_ = kind;
    return Clock::now() - since_ > place_.handshake_timeout;
  }

  std::string absence() const {
    const std::string seconds = std::to_string(place_.handshake_timeout.count() / 1000) + " s";
    return "dist: " + who(place_) + " cannot meet the other ranks at " + where(place_) + ": " +
           (was_there_
                ? "a process listened there, but sent nothing and has been gone for " + seconds
                : "no process has listened there for " + seconds) +
           (place_.joined ? "; if rank 0 has failed, its output says why; MASTER_ADDR and "
                            "MASTER_PORT must point to its machine"
                          : "; run the command on the machine with --node-rank=0, and run it "
                            "again on this machine");
  }

  const RankPlace& place_;
  Kind kind_ = Kind::none;
  Clock::time_point since_ = Clock::now();
  bool was_there_ = false;
  bool has_spoken_ = false;
};

std::unique_ptr<Rendezvous> with_first_word(const RankPlace& place) {
  auto rendezvous = std::make_unique<Rendezvous>(place);
  rendezvous->get(handshake_keys::kHandOver, kNoLimit);
  return rendezvous;
}

// Of who listens, as long as it does; connecting hangs until it serves.
std::optional<std::unique_ptr<Rendezvous>> with_first_word(const RankPlace& place,
                                                           Liveness& liveness, Obstacle& obstacle) {
  const auto began = Clock::now();
  return within(
      kNoLimit, [place] { return with_first_word(place); },
      [&] {
        obstacle.is_none(Clock::now() - began);
        return !liveness.is_there();
      });
}

std::unique_ptr<Rendezvous> met_who_listens(const RankPlace& place, Liveness& liveness,
                                            Obstacle& obstacle) {
  std::optional<std::unique_ptr<Rendezvous>> met;
  json word;
  bool open = false;
  try {
    met = with_first_word(place, liveness, obstacle);
    if (!met) return nullptr;
    word = handshake_keys::heard(**met, handshake_keys::kHandOver);
    open = is_open(**met);
  } catch (const Error& error) {
    if (obstacle.is_failure(error)) throw;
    return nullptr;
  }
  require_own_job(place, word);
  if (open) return std::move(*met);
  obstacle.is_that_others_have_begun();
  return nullptr;
}

std::unique_ptr<Rendezvous> met_at_rank_0(const RankPlace& place) {
  Obstacle obstacle(place);
  for (Liveness liveness(place.address, place.port);; std::this_thread::sleep_for(kLookForRank0)) {
    if (!liveness.is_there())
      obstacle.is_absence();
    else if (auto met = met_who_listens(place, liveness, obstacle))
      return met;
  }
}

}  // namespace

std::unique_ptr<Rendezvous> meet_rank_0(const RankPlace& place) {
  if (!place.store_is_served) return met_at_rank_0(place);
  auto rendezvous = std::make_unique<Rendezvous>(place);
  meet_again(*rendezvous);
  return rendezvous;
}

// The launcher that serves the store ends this rank if rank 0 is gone.
void meet_again(Rendezvous& rendezvous) {
  while (!rendezvous.enter_newest_round() || !rendezvous.has(handshake_keys::kHandOver) ||
         !is_open(rendezvous))
    std::this_thread::sleep_for(kLookForRank0);
  require_own_job(rendezvous.place(), handshake_keys::heard(rendezvous, handshake_keys::kHandOver));
}

}  // namespace exprun
