#include "engine/hand_over.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/host_name.h"
#include "base/json_text.h"
#include "base/log.h"
#include "engine/device.h"
#include "engine/evidence.h"
#include "text/data_facts.h"

namespace exprun {

namespace {

using nlohmann::json;

constexpr const char* kKey = "hand-over";

constexpr const char* kVerdict = "verdict";  // empty: all can take part

std::string answer_key(int rank) {
  return "answer/" + std::to_string(rank);
}

std::string heard_key(int rank) {
  return "heard/" + std::to_string(rank);
}

// Rank 0 serves the rendezvous: it must not leave before all have heard.
void wait_until_heard(Rendezvous& rendezvous, std::optional<std::chrono::milliseconds> patience) {
  const RankPlace& place = rendezvous.place();
  for (int rank = place.ranks_here; rank < place.world_size; ++rank)
    rendezvous.get(heard_key(rank), patience);
}

// The first rank that cannot take part, and why; empty if all can.
std::string first_problem(Rendezvous& rendezvous) {
  for (int rank = 1; rank < rendezvous.place().world_size; ++rank)
    if (std::string problem = rendezvous.get(answer_key(rank)); !problem.empty()) return problem;
  return "";
}

// A rank may be gone already; why none of them begins is more worth saying.
[[noreturn]] void refuse(Rendezvous& rendezvous, const std::string& problem) {
  try {
    wait_until_heard(rendezvous, std::chrono::seconds(5));
  } catch (const Error&) {
    log(LogLevel::debug, "a rank has not heard that none begins");
  }
  throw Error(problem, ExitCode::lost_ranks);
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
                     message.at("device")};
  if (message.contains("checkpoint"))
    hand_over.checkpoint = message["checkpoint"].get<std::string>();
  return hand_over;
}

// Who has the problem is the cause; the others end because of it.
void answer(Rendezvous& rendezvous, const std::string& problem) {
  const int rank = rendezvous.place().rank;
  rendezvous.set(answer_key(rank), problem);
  const std::string verdict = rendezvous.get(kVerdict);
  rendezvous.set(heard_key(rank), "");
  if (!problem.empty()) throw Error(problem);
  if (!verdict.empty()) throw Error(verdict, ExitCode::lost_ranks);
}

}  // namespace

ResolvedRecipe HandOver::resolved() const {
  return resolve(RecipeText::from_json(recipe), facts_of(data));
}

HandOver read_hand_over(const RunFolder& folder,
                        const std::optional<std::filesystem::path>& checkpoint) {
  HandOver hand_over{folder, read_file(folder.recipe()),
                     PreparedData::from_json(read_file(folder.data())), checkpoint};
  hand_over.device =
      c10::DeviceTypeName(chosen_device(hand_over.resolved().section("run")), /*lower_case=*/true);
  return hand_over;
}

void tell(Rendezvous& rendezvous, const HandOver& hand_over) {
  json message{{"evidence", to_json(evidence(hand_over.resolved().hash(), hand_over.data,
                                             hand_over.checkpoint))},
               {"working_directory", std::filesystem::current_path().string()},
               {"folder", hand_over.folder.path.string()},
               {"recipe", hand_over.recipe},
               {"data", hand_over.data.to_json()},
               {"device", hand_over.device}};
  if (hand_over.checkpoint) message["checkpoint"] = hand_over.checkpoint->string();
  rendezvous.set(kKey, json_text(message));
  const std::string problem = first_problem(rendezvous);
  rendezvous.set(kVerdict, problem);
  if (!problem.empty()) refuse(rendezvous, problem);
}

std::unique_ptr<Rendezvous> meet_rank_0(const RankPlace& place) {
  for (;;) {
    auto rendezvous = std::make_unique<Rendezvous>(place);
    try {
      rendezvous->get(kKey);
      return rendezvous;
    } catch (const Error& error) {
      if (place.restarts == 0) throw;
      log(LogLevel::debug, error.what());
    }
  }
}

Heard hear(Rendezvous& rendezvous, const std::optional<std::string>& recipe_hash) {
  const json message = parse_json<json>(rendezvous.get(kKey));
  if (message.contains("dismissed")) {
    rendezvous.set(heard_key(rendezvous.place().rank), "");
    return static_cast<ExitCode>(message["dismissed"].get<int>());
  }
  HandOver hand_over;
  std::string problem;
  try {
    hand_over = read_message(message);
    problem =
        difference_from_rank_0(evidence(recipe_hash ? *recipe_hash : hand_over.resolved().hash(),
                                        hand_over.data, hand_over.checkpoint),
                               message.at("evidence"));
  } catch (const std::exception& error) {
    problem = error.what();
  }
  answer(rendezvous, problem.empty() ? "" : here(rendezvous.place()) + problem);
  return hand_over;
}

void dismiss(Rendezvous& rendezvous, ExitCode code) {
  rendezvous.set(kKey, json_text(json{{"dismissed", static_cast<int>(code)}}));
  wait_until_heard(rendezvous, std::nullopt);
}

}  // namespace exprun
