#include "engine/attempt/handshake.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "dist/failures/failure.h"
#include "dist/failures/liveness.h"

namespace exprun {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForAcknowledgment{10};

}  // namespace

namespace handshake_keys {

std::string reply_key(int rank) {
  return "reply/" + std::to_string(rank);
}

std::string acknowledgment_key(int rank) {
  return "acknowledged/" + std::to_string(rank);
}

void send(Rendezvous& rendezvous, const char* key, json message) {
  message["job"] = rendezvous.place().job;
  rendezvous.set(key, json_text(message, -1, NotUtf8::replaced));
}

json received(Rendezvous& rendezvous, const char* key) {
  return parse_json<json>(rendezvous.get(key));
}

bool starts_training(const json& decision) {
  return decision.contains("device");
}

}  // namespace handshake_keys

std::vector<int> ranks_from(int first, const Rendezvous& rendezvous) {
  std::vector<int> ranks;
  for (int rank = first; rank < rendezvous.place().world_size; ++rank) ranks.push_back(rank);
  return ranks;
}

void wait_until_acknowledged(Rendezvous& rendezvous, const std::vector<int>& ranks,
                             std::chrono::milliseconds patience) {
  const auto late = Clock::now() + patience;
  for (const int rank : ranks)
    while (!rendezvous.has(handshake_keys::acknowledgment_key(rank))) {
      if (Clock::now() > late)
        throw Error("dist: rank " + std::to_string(rank) + " did not join within " +
                    std::to_string(patience.count() / 1000) + " s");
      std::this_thread::sleep_for(kLookForAcknowledgment);
    }
}

void wait_for_acknowledgments(Rendezvous& rendezvous, const std::vector<int>& ranks,
                              std::chrono::milliseconds patience) {
  try {
    wait_until_acknowledged(rendezvous, ranks, patience);
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
constexpr std::chrono::seconds kMoment{1};  // in which another kind of server fails the connection

std::string where(const RankPlace& place) {
  return place.address + ":" + std::to_string(place.port);
}

std::string who(const RankPlace& place) {
  return "rank " + std::to_string(place.rank) + " of " + std::to_string(place.world_size);
}

// Rank 0 of another job may have taken the port first.
void require_own_job(const RankPlace& place, const json& message) {
  const std::string job = message.value("job", "");
  if (job != place.job)
    throw Error("dist: rank 0 at " + where(place) + " belongs to job '" + job +
                    "', but this rank belongs to job '" + place.job +
                    "'; use a different MASTER_PORT for each job",
                ExitCode::lost_ranks);
}

// Whether this rank can still take part: no former process of this rank has acknowledged the
// decision, and the others have not begun.
bool is_open(Rendezvous& rendezvous) {
  if (rendezvous.has(handshake_keys::acknowledgment_key(rendezvous.place().rank))) return false;
  return !rendezvous.has(handshake_keys::kDecision) ||
         !handshake_keys::starts_training(
             handshake_keys::received(rendezvous, handshake_keys::kDecision));
}

// What keeps a rank from joining. The same obstacle for too long is an error.
class Obstacle {
 public:
  explicit Obstacle(const RankPlace& place) : place_(place) {}

  void note_absence() {
    if (is_too_long(Kind::absence)) throw Error(absence());
  }

  // Returns whether there have been failures for too long.
  bool note_failure(const Error& error) {
    log(LogLevel::debug, error.what());
    return is_too_long(Kind::failure);
  }

  void note_others_began() {
    const std::string there =
        "rank " + std::to_string(place_.rank) + " has already joined at " + where(place_);
    if (kind_ != Kind::begun && place_.local_rank == 0)
      log_warning("dist: " + there + "; this process waits until all ranks are restarted");
    if (is_too_long(Kind::begun))
      throw Error("dist: " + there + "; start each rank only once", ExitCode::lost_ranks);
  }

  // A process has listened for so long, and this rank waits for what it sends.
  void note_listener(Clock::duration time) {
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
           (place_.external_launcher
                ? "; if rank 0 has failed, its output says why; MASTER_ADDR and "
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

std::unique_ptr<Rendezvous> with_first_message(const RankPlace& place) {
  auto rendezvous = std::make_unique<Rendezvous>(place);
  rendezvous->get(handshake_keys::kHandOver, kNoLimit);
  return rendezvous;
}

// From the process that listens, as long as it does; connecting hangs until it serves.
std::optional<std::unique_ptr<Rendezvous>> with_first_message(const RankPlace& place,
                                                              Liveness& liveness,
                                                              Obstacle& obstacle) {
  const auto began = Clock::now();
  return within(
      kNoLimit, [place] { return with_first_message(place); },
      [&] {
        obstacle.note_listener(Clock::now() - began);
        return !liveness.is_there();
      });
}

std::unique_ptr<Rendezvous> joined_listener(const RankPlace& place, Liveness& liveness,
                                            Obstacle& obstacle) {
  std::optional<std::unique_ptr<Rendezvous>> joined;
  json message;
  bool open = false;
  try {
    joined = with_first_message(place, liveness, obstacle);
    if (!joined) return nullptr;
    message = handshake_keys::received(**joined, handshake_keys::kHandOver);
    open = is_open(**joined);
  } catch (const Error& error) {
    if (obstacle.note_failure(error)) throw;
    return nullptr;
  }
  require_own_job(place, message);
  if (open) return std::move(*joined);
  obstacle.note_others_began();
  return nullptr;
}

std::unique_ptr<Rendezvous> joined_at_rank_0(const RankPlace& place) {
  Obstacle obstacle(place);
  for (Liveness liveness(place.address, place.port);; std::this_thread::sleep_for(kLookForRank0)) {
    if (!liveness.is_there())
      obstacle.note_absence();
    else if (auto joined = joined_listener(place, liveness, obstacle))
      return joined;
  }
}

}  // namespace

std::unique_ptr<Rendezvous> join_rank_0(const RankPlace& place) {
  if (!place.store_is_served) return joined_at_rank_0(place);
  auto rendezvous = std::make_unique<Rendezvous>(place);
  join_next_round(*rendezvous);
  return rendezvous;
}

// The launcher that serves the store ends this rank if rank 0 is gone.
void join_next_round(Rendezvous& rendezvous) {
  while (!rendezvous.enter_newest_round() || !rendezvous.has(handshake_keys::kHandOver) ||
         !is_open(rendezvous))
    std::this_thread::sleep_for(kLookForRank0);
  require_own_job(rendezvous.place(),
                  handshake_keys::received(rendezvous, handshake_keys::kHandOver));
}

}  // namespace exprun
