#include "engine/attempt/hand_over.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/machine/network.h"
#include "base/process/signals.h"
#include "dist/rendezvous.h"
#include "engine/attempt/consistency_check.h"
#include "engine/attempt/handshake.h"
#include "engine/attempt/restarts.h"
#include "engine/attempt/shutdown_barrier.h"
#include "engine/device/device.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

// What the ranks above 0 reply to the hand-over, and what rank 0 makes of it.
struct Reply {
  std::string process;  // tells it from another process that is started as the same rank
  std::string problem;  // why it cannot take part
  GpuClaim gpu;
};

// Of all ranks, rank 0's the first of them, or why they are not there.
struct Replies {
  StopRequest stop = StopRequest::none;  // came before the last of them
  std::string problem;                   // of the first rank that has one
  std::vector<Reply> of_rank;
};

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForReplies{10};
constexpr std::chrono::milliseconds kLookForDecision{50};  // many ranks ask one server, for long
constexpr std::chrono::seconds kSettleTime{2};  // in which all reply when asked once more

std::string listed(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

std::vector<int> missing_ranks(Rendezvous& rendezvous) {
  std::vector<int> ranks = ranks_from(1, rendezvous);
  std::erase_if(ranks, [&](int rank) { return rendezvous.has(handshake_keys::reply_key(rank)); });
  return ranks;
}

// Where a launcher starts all ranks it has failed; people who start each machine may be late.
[[noreturn]] void give_up(Rendezvous& rendezvous) {
  const RankPlace& place = rendezvous.place();
  const std::string text = "dist: rank 0 of " + std::to_string(place.world_size) +
                           " cannot meet the other ranks at " + place.address + ":" +
                           std::to_string(place.port) + ": waited " +
                           std::to_string(place.handshake_timeout.count() / 1000) + " s for " +
                           listed(missing_ranks(rendezvous));
  const bool by_people = !place.external_launcher && place.ranks_here < place.world_size;
  const ExitCode code = by_people ? ExitCode::preempted : ExitCode::lost_ranks;
  cancel_start(rendezvous, {code, text});
  throw Error(text, code);
}

// One round of asking all.
class Round {
 public:
  Round(Rendezvous& rendezvous, bool is_first) : rendezvous_(rendezvous), is_first_(is_first) {}

  bool is_within_settle_time() const { return Clock::now() - began_ < kSettleTime; }

  Replies replies(const GpuClaim& own) {
    Replies all{StopRequest::none, "", {{"", "", own}}};
    for (int rank = 1; rank < rendezvous_.place().world_size; ++rank) {
      all.stop = await(rank);
      if (all.stop != StopRequest::none) return all;
      const json reply = parse_json<json>(rendezvous_.get(handshake_keys::reply_key(rank)));
      all.of_rank.push_back({reply.at("process"), reply.at("problem"), reply.at("gpu")});
      all.problem = all.of_rank.back().problem;
      if (!all.problem.empty()) return all;
    }
    return all;
  }

 private:
  StopRequest await(int rank) {
    while (!rendezvous_.has(handshake_keys::reply_key(rank))) {
      if (const auto stop = stop_requested(); stop != StopRequest::none) return stop;
      if (Clock::now() > began_ + rendezvous_.place().handshake_timeout) give_up(rendezvous_);
      if (!is_first_ && !is_within_settle_time()) warn_of_missing_ranks();
      std::this_thread::sleep_for(kLookForReplies);
    }
    return StopRequest::none;
  }

  void warn_of_missing_ranks() {
    if (has_warned_) return;
    has_warned_ = true;
    log_warning("dist: " + listed(missing_ranks(rendezvous_)) +
                " stopped responding after joining; the other ranks wait for a restart");
  }

  Rendezvous& rendezvous_;
  const bool is_first_;
  const Clock::time_point began_ = Clock::now();
  bool has_warned_ = false;
};

// As rank 0. A rank that has replied may have died before the last one joined, or been restarted:
// all are asked once more, until they reply within the settle time. Throws Error when some do not
// join; the start is then cancelled for the others.
Replies replies_of_all(Rendezvous& rendezvous, GpuClaim own) {
  for (bool is_first = true;; is_first = false) {
    Round round(rendezvous, is_first);
    Replies replies = round.replies(own);
    if (replies.stop != StopRequest::none || !replies.problem.empty()) return replies;
    if (!is_first && round.is_within_settle_time()) return replies;
    for (const int rank : ranks_from(1, rendezvous))
      rendezvous.forget(handshake_keys::reply_key(rank));
  }
}

// On a rank above 0: replies, as often as rank 0 asks, until there is a decision. Nothing where
// rank 0 has begun another round before it had one.
std::optional<json> decision_on(const Reply& reply, Rendezvous& rendezvous) {
  const std::string key = handshake_keys::reply_key(rendezvous.place().rank);
  const std::string text =
      json_text(json{{"process", reply.process}, {"problem", reply.problem}, {"gpu", reply.gpu}},
                -1, NotUtf8::replaced);
  for (rendezvous.set(key, text); !rendezvous.has(handshake_keys::kDecision);
       std::this_thread::sleep_for(kLookForDecision)) {
    if (!rendezvous.is_newest_round()) return std::nullopt;
    if (!rendezvous.has(key)) rendezvous.set(key, text);
  }
  return handshake_keys::received(rendezvous, handshake_keys::kDecision);
}

constexpr const char* kCpu = "cpu";  // a device of HandOver

std::vector<GpuClaim> gpus_of(const Replies& replies) {
  std::vector<GpuClaim> gpus;
  for (const Reply& reply : replies.of_rank) gpus.push_back(reply.gpu);
  return gpus;
}

// They take part, and no other processes that were started as these ranks.
std::vector<std::string> processes_of(const Replies& replies) {
  std::vector<std::string> processes;
  for (const Reply& reply : replies.of_rank) processes.push_back(reply.process);
  return processes;
}

// Without a GPU for each rank none computes on one, unless the recipe insists.
void settle_device(HandOver& hand_over, Replies& replies) {
  if (hand_over.device == kCpu) return;
  const std::vector<GpuClaim> gpus = gpus_of(replies);
  const std::string problem = gpu_problem(gpus);
  if (problem.empty()) {
    replies.problem = program_problem(gpus);
    return;
  }
  if (hand_over.wants_gpus()) {
    replies.problem = problem;
  } else {
    log_warning(problem + ": the run trains on the CPU");
    hand_over.device = kCpu;
  }
}

GpuClaim claim(const HandOver& hand_over, const RankPlace& place, const OwnGpu& own) {
  return hand_over.device == kCpu ? GpuClaim{} : claim_of(place, own);
}

std::string here(const RankPlace& place) {
  return "dist: rank " + std::to_string(place.rank) + " on " + host_name() + ": ";
}

// Its paths are relative to where rank 0 works.
HandOver read_message(const json& message) {
  const auto directory = message.at("working_directory").get<std::string>();
  std::error_code error;
  std::filesystem::current_path(directory, error);
  if (error)
    throw Error("cannot enter " + directory + ", the working folder of rank 0 (" + error.message() +
                "); the ranks need a folder that all machines share");
  HandOver hand_over{{message.at("folder").get<std::string>()},
                     message.at("recipe"),
                     PreparedData::from_json(message.at("data")),
                     std::nullopt,
                     message.at("device"),
                     message.at("attempt"),
                     message.at("checkpoint_recipe")};
  if (message.contains("checkpoint"))
    hand_over.checkpoint = message["checkpoint"].get<std::string>();
  return hand_over;
}

// The device to train on. A rank with a problem throws that; the others throw what rank 0 sent.
std::string device_of(const json& decision, const Reply& own, const RankPlace& place) {
  if (!own.problem.empty()) throw Error(own.problem);
  if (!handshake_keys::starts_training(decision))
    throw Error(decision.at("problem"), ExitCode::lost_ranks);
  const auto processes = decision.at("processes").get<std::vector<std::string>>();
  if (processes.at(static_cast<size_t>(place.rank)) != own.process)
    throw Error("dist: rank " + std::to_string(place.rank) + " has already joined at " +
                    place.address + ":" + std::to_string(place.port) +
                    "; start each rank only once",
                ExitCode::lost_ranks);
  return decision.at("device");
}

std::string name_of_process() {
  std::random_device random;
  return std::to_string(random()) + "-" + std::to_string(random());
}

// What rank 0 has sent, and this rank's reply to it.
struct CheckedHandOver {
  HandOver hand_over;
  Reply reply;
};

CheckedHandOver check_hand_over(const json& message, const RankPlace& place,
                                const std::optional<std::string>& recipe_hash, const OwnGpu& own) {
  CheckedHandOver checked{{}, {name_of_process(), "", {}}};
  auto& [hand_over, reply] = checked;
  try {
    hand_over = read_message(message);
    reply.problem = difference_from_rank_0(
        consistency_record(recipe_hash ? *recipe_hash : hand_over.resolved().hash(), hand_over.data,
                           hand_over.checkpoint),
        message.at("evidence"));
    reply.gpu = claim(hand_over, place, own);
  } catch (const std::exception& error) {
    reply.problem = error.what();
  }
  if (!reply.problem.empty()) reply.problem = here(place) + reply.problem;
  return checked;
}

// In the present round of rank 0; nothing where it has begun another one before there was a
// decision.
std::optional<ReceivedHandOver> receive_in_this_round(Rendezvous& rendezvous,
                                                      const std::optional<std::string>& recipe_hash,
                                                      const OwnGpu& own) {
  const RankPlace& place = rendezvous.place();
  const json message = handshake_keys::received(rendezvous, handshake_keys::kHandOver);
  if (const auto shutdown_notice = shutdown_notice_in(message))
    return acknowledge_shutdown(rendezvous, *shutdown_notice);
  report_restarts(place, message.at("restarts"), message.at("max_restarts"));
  auto [hand_over, reply] = check_hand_over(message, place, recipe_hash, own);
  const auto decision = decision_on(reply, rendezvous);
  if (!decision) return std::nullopt;
  if (const auto shutdown_notice = shutdown_notice_in(*decision))
    return acknowledge_shutdown(rendezvous, *shutdown_notice);
  rendezvous.set(handshake_keys::acknowledgment_key(place.rank), "");
  hand_over.device = device_of(*decision, reply, place);
  return hand_over;
}

}  // namespace

ResolvedRecipe HandOver::resolved() const {
  return resolve(RecipeText::from_json(recipe), facts_of(data));
}

HandOver read_hand_over(const RunFolder& folder,
                        const std::optional<std::filesystem::path>& checkpoint,
                        const std::string& checkpoint_recipe) {
  HandOver hand_over{folder, read_file(folder.recipe()), PreparedData::load(folder.data()),
                     checkpoint};
  hand_over.checkpoint_recipe = checkpoint_recipe;
  hand_over.device =
      c10::DeviceTypeName(chosen_device(hand_over.resolved().section("run")), /*lower_case=*/true);
  return hand_over;
}

bool HandOver::wants_gpus() const {
  return resolved().section("run").get<std::string>("device") == "cuda";
}

StopRequest send_hand_over(Rendezvous& rendezvous, HandOver& hand_over, const OwnGpu& own) {
  const auto most = hand_over.resolved().section("parallelism").get<int64_t>("max_restarts");
  json message{{"evidence", to_json(consistency_record(hand_over.resolved().hash(), hand_over.data,
                                                       hand_over.checkpoint))},
               {"working_directory", std::filesystem::current_path().string()},
               {"folder", hand_over.folder.path.string()},
               {"recipe", hand_over.recipe},
               {"data", hand_over.data.to_json()},
               {"device", hand_over.device},
               {"checkpoint_recipe", hand_over.checkpoint_recipe},
               {"attempt", hand_over.attempt},
               {"restarts", rendezvous.place().restarts},
               {"max_restarts", most}};
  if (hand_over.checkpoint) message["checkpoint"] = hand_over.checkpoint->string();
  handshake_keys::send(rendezvous, handshake_keys::kHandOver, message);
  Replies replies = replies_of_all(rendezvous, claim(hand_over, rendezvous.place(), own));
  if (replies.stop == StopRequest::none && replies.problem.empty())
    settle_device(hand_over, replies);
  if (!replies.problem.empty()) refuse_start(rendezvous, replies.problem);
  if (replies.stop == StopRequest::none)
    handshake_keys::send(rendezvous, handshake_keys::kDecision,
                         {{"device", hand_over.device}, {"processes", processes_of(replies)}});
  else
    cancel_start(rendezvous, {exit_code_of(replies.stop), ""});
  return replies.stop;
}

ReceivedHandOver receive_hand_over(Rendezvous& rendezvous,
                                   const std::optional<std::string>& recipe_hash,
                                   const OwnGpu& own) {
  for (;; join_next_round(rendezvous))
    if (auto received = receive_in_this_round(rendezvous, recipe_hash, own))
      return std::move(*received);
}

}  // namespace exprun
