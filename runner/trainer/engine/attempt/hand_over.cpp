#include "engine/attempt/hand_over.h"

#include <nlohmann/json.hpp>
#include <random>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "base/machine/host_name.h"
#include "engine/attempt/dismissal.h"
#include "engine/attempt/evidence.h"
#include "engine/attempt/meeting.h"
#include "engine/attempt/meeting_words.h"
#include "engine/attempt/replies.h"
#include "engine/attempt/restarts.h"
#include "engine/device/device.h"
#include "text/data_facts.h"

namespace exprun {

namespace {

using nlohmann::json;

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
    throw Error("cannot enter " + directory + ", where rank 0 works (" + error.message() +
                "): the ranks need a folder that all machines share");
  HandOver hand_over{{message.at("folder").get<std::string>()},
                     message.at("recipe"),
                     PreparedData::from_json(message.at("data")),
                     std::nullopt,
                     message.at("device"),
                     message.at("attempt")};
  if (message.contains("checkpoint"))
    hand_over.checkpoint = message["checkpoint"].get<std::string>();
  return hand_over;
}

// The device to train on. Who has the problem is the cause; the others end because of it.
std::string device_of(const json& verdict, const Reply& own, const RankPlace& place) {
  if (!own.problem.empty()) throw Error(own.problem);
  if (!meeting_words::begins(verdict)) throw Error(verdict.at("problem"), ExitCode::lost_ranks);
  const auto processes = verdict.at("processes").get<std::vector<std::string>>();
  if (processes.at(static_cast<size_t>(place.rank)) != own.process)
    throw Error("dist: there is a rank " + std::to_string(place.rank) + " at " + place.address +
                    ":" + std::to_string(place.port) + " already: each rank is started once",
                ExitCode::lost_ranks);
  return verdict.at("device");
}

std::string name_of_process() {
  std::random_device random;
  return std::to_string(random()) + "-" + std::to_string(random());
}

// What this rank makes of rank 0's word, and its reply.
struct Understood {
  HandOver hand_over;
  Reply reply;
};

Understood understand(const json& word, const RankPlace& place,
                      const std::optional<std::string>& recipe_hash, const OwnGpu& own) {
  Understood understood{{}, {name_of_process(), "", {}}};
  auto& [hand_over, reply] = understood;
  try {
    hand_over = read_message(word);
    reply.problem =
        difference_from_rank_0(evidence(recipe_hash ? *recipe_hash : hand_over.resolved().hash(),
                                        hand_over.data, hand_over.checkpoint),
                               word.at("evidence"));
    reply.gpu = claim(hand_over, place, own);
  } catch (const std::exception& error) {
    reply.problem = error.what();
  }
  if (!reply.problem.empty()) reply.problem = here(place) + reply.problem;
  return understood;
}

// In the present life of rank 0; nothing where it has begun another one before there was a verdict.
std::optional<Heard> hear_in_this_life(Rendezvous& rendezvous,
                                       const std::optional<std::string>& recipe_hash,
                                       const OwnGpu& own) {
  const RankPlace& place = rendezvous.place();
  const json word = meeting_words::heard(rendezvous, meeting_words::kHandOver);
  if (const auto dismissal = dismissal_in(word)) return leave(rendezvous, *dismissal);
  report_restarts(place, word.at("restarts"), word.at("max_restarts"));
  auto [hand_over, reply] = understand(word, place, recipe_hash, own);
  const auto verdict = verdict_on(reply, rendezvous);
  if (!verdict) return std::nullopt;
  if (const auto dismissal = dismissal_in(*verdict)) return leave(rendezvous, *dismissal);
  rendezvous.set(meeting_words::heard_key(place.rank), "");
  hand_over.device = device_of(*verdict, reply, place);
  return hand_over;
}

}  // namespace

ResolvedRecipe HandOver::resolved() const {
  return resolve(RecipeText::from_json(recipe), facts_of(data));
}

HandOver read_hand_over(const RunFolder& folder,
                        const std::optional<std::filesystem::path>& checkpoint) {
  HandOver hand_over{folder, read_file(folder.recipe()), PreparedData::load(folder.data()),
                     checkpoint};
  hand_over.device =
      c10::DeviceTypeName(chosen_device(hand_over.resolved().section("run")), /*lower_case=*/true);
  return hand_over;
}

bool HandOver::wants_gpus() const {
  return resolved().section("run").get<std::string>("device") == "cuda";
}

StopRequest tell(Rendezvous& rendezvous, HandOver& hand_over, const OwnGpu& own) {
  const auto most = hand_over.resolved().section("parallelism").get<int64_t>("max_restarts");
  json message{{"evidence", to_json(evidence(hand_over.resolved().hash(), hand_over.data,
                                             hand_over.checkpoint))},
               {"working_directory", std::filesystem::current_path().string()},
               {"folder", hand_over.folder.path.string()},
               {"recipe", hand_over.recipe},
               {"data", hand_over.data.to_json()},
               {"device", hand_over.device},
               {"attempt", hand_over.attempt},
               {"restarts", rendezvous.place().restarts},
               {"max_restarts", most}};
  if (hand_over.checkpoint) message["checkpoint"] = hand_over.checkpoint->string();
  meeting_words::say(rendezvous, meeting_words::kHandOver, message);
  Replies replies = replies_of_all(rendezvous, claim(hand_over, rendezvous.place(), own));
  if (replies.stop == StopRequest::none && replies.problem.empty())
    settle_device(hand_over, replies);
  if (!replies.problem.empty()) refuse(rendezvous, replies.problem);
  if (replies.stop == StopRequest::none)
    meeting_words::say(rendezvous, meeting_words::kVerdict,
                       {{"device", hand_over.device}, {"processes", processes_of(replies)}});
  else
    call_off(rendezvous, {exit_code_of(replies.stop), ""});
  return replies.stop;
}

Heard hear(Rendezvous& rendezvous, const std::optional<std::string>& recipe_hash,
           const OwnGpu& own) {
  for (;; meet_again(rendezvous))
    if (auto heard = hear_in_this_life(rendezvous, recipe_hash, own)) return std::move(*heard);
}

}  // namespace exprun
