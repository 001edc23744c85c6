#include "engine/attempt/shutdown_barrier.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/diagnostic.h"
#include "base/log.h"
#include "engine/attempt/handshake.h"
#include "engine/attempt/restarts.h"

namespace exprun {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kReleased = "released";
constexpr std::chrono::milliseconds kLookForLeavers{10};
constexpr std::chrono::seconds kLeaving{5};
constexpr std::chrono::hours kSaving{24};

std::string leaves_key(int rank) {
  return "leaves/" + std::to_string(rank);
}

bool leaves_before(Clock::time_point late, int rank, Rendezvous& rendezvous) {
  while (!rendezvous.has(leaves_key(rank))) {
    if (Clock::now() > late) return false;
    std::this_thread::sleep_for(kLookForLeavers);
  }
  return true;
}

}  // namespace

void release_others(Rendezvous& rendezvous) try {
  rendezvous.set(kReleased, "");
  const auto late = Clock::now() + kLeaving;
  for (int rank = 1; rank < rendezvous.place().world_size; ++rank)
    if (!leaves_before(late, rank, rendezvous))
      log_warning("dist: rank " + std::to_string(rank) +
                  " does not confirm its exit: it hangs or is no longer running; the run is saved");
} catch (const Error& error) {
  log_warning(std::string(error.what()) + "; the run is saved");
}

void await_release(Rendezvous& rendezvous, std::chrono::milliseconds silence) {
  rendezvous.membership()->all_part(silence);
  rendezvous.get(kReleased, kSaving);
  rendezvous.set(leaves_key(rendezvous.place().rank), "");
}

namespace {

using nlohmann::json;

constexpr std::chrono::seconds kAcknowledging{5};
constexpr std::chrono::seconds kGrace{1};  // for ranks of which nothing is known

json to_json(const ShutdownNotice& shutdown_notice) {
  return {{"shutdown", static_cast<int>(shutdown_notice.code)}, {"why", shutdown_notice.why}};
}

// Those that will certainly acknowledge: they wait, or were started beside rank 0.
std::vector<int> certain_ranks(Rendezvous& rendezvous) {
  const int ranks_here = rendezvous.place().ranks_here;
  std::vector<int> ranks = ranks_from(1, rendezvous);
  std::erase_if(ranks, [&](int rank) {
    return rank >= ranks_here && !rendezvous.has(handshake_keys::reply_key(rank));
  });
  return ranks;
}

// Once on each machine that does not show what rank 0 says.
void show_cause(const RankPlace& place, const std::string& why) {
  if (place.local_rank == 0) log(LogLevel::error, "rank 0 says: " + why.substr(0, why.find('\n')));
}

}  // namespace

void shut_down(Rendezvous& rendezvous, const ShutdownNotice& shutdown_notice) {
  const RankPlace& place = rendezvous.place();
  handshake_keys::send(rendezvous, handshake_keys::kHandOver, to_json(shutdown_notice));
  // Its launcher has started none beside it.
  wait_until_acknowledged(rendezvous, ranks_from(place.ranks_here, rendezvous),
                          place.handshake_timeout);
}

void cancel_start(Rendezvous& rendezvous, const ShutdownNotice& shutdown_notice) {
  handshake_keys::send(rendezvous, handshake_keys::kHandOver, to_json(shutdown_notice));
  handshake_keys::send(rendezvous, handshake_keys::kDecision, to_json(shutdown_notice));
  wait_for_acknowledgments(rendezvous, ranks_from(1, rendezvous), kGrace);
  wait_for_acknowledgments(rendezvous, certain_ranks(rendezvous), kAcknowledging);
}

void refuse_start(Rendezvous& rendezvous, const std::string& problem) {
  handshake_keys::send(rendezvous, handshake_keys::kDecision, {{"problem", problem}});
  wait_for_acknowledgments(rendezvous, ranks_from(1, rendezvous), kAcknowledging);
  throw Error(problem, ExitCode::lost_ranks);
}

std::optional<ShutdownNotice> shutdown_notice_in(const json& message) {
  if (!message.contains("shutdown")) return std::nullopt;
  return ShutdownNotice{static_cast<ExitCode>(message["shutdown"].get<int>()), message.at("why")};
}

ExitCode acknowledge_shutdown(Rendezvous& rendezvous, const ShutdownNotice& shutdown_notice) {
  const RankPlace& place = rendezvous.place();
  if (!shutdown_notice.why.empty()) {
    write_error_file(shutdown_notice.why);
    show_cause(place, shutdown_notice.why);
  }
  forbid_restarts(place);
  rendezvous.set(handshake_keys::acknowledgment_key(place.rank), "");
  return shutdown_notice.code;
}

}  // namespace exprun
