#include "engine/attempt/meeting.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/diagnostic.h"
#include "base/log.h"
#include "dist/presence.h"
#include "dist/within.h"
#include "engine/attempt/meeting_words.h"

namespace exprun {

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
    throw Error("dist: rank 0 at " + where(place) + " is of job '" + job +
                    "', and this rank of job '" + place.job +
                    "': give the ranks of each job a MASTER_PORT of their own",
                ExitCode::lost_ranks);
}

// Whether this rank can still take part: no former process of its has heard that none
// begins, and the others have not begun.
bool is_open(Rendezvous& rendezvous) {
  if (rendezvous.has(meeting_words::heard_key(rendezvous.place().rank))) return false;
  return !rendezvous.has(meeting_words::kVerdict) ||
         !meeting_words::begins(meeting_words::heard(rendezvous, meeting_words::kVerdict));
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
        "there is a rank " + std::to_string(place_.rank) + " at " + where(place_) + " already";
    if (kind_ != Kind::begun && place_.local_rank == 0)
      log_warning("dist: " + there + "; this one waits until all ranks are started again");
    if (is_too_long(Kind::begun))
      throw Error("dist: " + there + ": each rank is started once", ExitCode::lost_ranks);
  }

  // Somebody has listened for so long, for whom this rank waits.
  void is_none(Clock::duration time) {
    if (time < kMoment) return;
    kind_ = Kind::none;
    was_there_ = true;
    if (time < kSilence || has_spoken_ || place_.local_rank > 0) return;
    has_spoken_ = true;
    log_warning("dist: " + who(place_) + " waits: who listens at " + where(place_) +
                " has said nothing for " + std::to_string(kSilence.count()) +
                " s; rank 0 may be preparing data, or another program has the port");
  }

 private:
  enum class Kind { none, absence, failure, begun };

  bool is_too_long(Kind kind) {
    if (kind_ != kind) since_ = Clock::now();
    kind_ = kind;
    return Clock::now() - since_ > place_.meeting_timeout;
  }

  std::string absence() const {
    const std::string seconds = std::to_string(place_.meeting_timeout.count() / 1000) + " s";
    return "dist: " + who(place_) + " cannot meet the others at " + where(place_) + ": " +
           (was_there_ ? "who has listened there has said nothing and is gone for " + seconds
                       : "nobody has listened there for " + seconds) +
           (place_.joined ? "; rank 0 has said why if it has failed, and MASTER_ADDR and "
                            "MASTER_PORT must lead to its machine"
                          : "; give the command to the machine with --node-rank=0, and to this "
                            "one again");
  }

  const RankPlace& place_;
  Kind kind_ = Kind::none;
  Clock::time_point since_ = Clock::now();
  bool was_there_ = false;
  bool has_spoken_ = false;
};

std::unique_ptr<Rendezvous> with_first_word(const RankPlace& place) {
  auto rendezvous = std::make_unique<Rendezvous>(place);
  rendezvous->get(meeting_words::kHandOver, kNoLimit);
  return rendezvous;
}

// Of who listens, as long as it does; connecting hangs until it serves.
std::optional<std::unique_ptr<Rendezvous>> with_first_word(const RankPlace& place,
                                                           Presence& presence, Obstacle& obstacle) {
  const auto began = Clock::now();
  return within(
      kNoLimit, [place] { return with_first_word(place); },
      [&] {
        obstacle.is_none(Clock::now() - began);
        return !presence.is_there();
      });
}

std::unique_ptr<Rendezvous> met_who_listens(const RankPlace& place, Presence& presence,
                                            Obstacle& obstacle) {
  std::optional<std::unique_ptr<Rendezvous>> met;
  json word;
  bool open = false;
  try {
    met = with_first_word(place, presence, obstacle);
    if (!met) return nullptr;
    word = meeting_words::heard(**met, meeting_words::kHandOver);
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
  for (Presence presence(place.address, place.port);; std::this_thread::sleep_for(kLookForRank0)) {
    if (!presence.is_there())
      obstacle.is_absence();
    else if (auto met = met_who_listens(place, presence, obstacle))
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
  while (!rendezvous.enter_newest_life() || !rendezvous.has(meeting_words::kHandOver) ||
         !is_open(rendezvous))
    std::this_thread::sleep_for(kLookForRank0);
  require_own_job(rendezvous.place(), meeting_words::heard(rendezvous, meeting_words::kHandOver));
}

}  // namespace exprun
