#include "engine/hand_over.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/version.h"
#include "text/data_facts.h"

namespace exprun {

namespace {

using nlohmann::json;

constexpr const char* kKey = "hand-over";

std::string heard_key(int rank) {
  return "heard/" + std::to_string(rank);
}

void require_equal(const std::string& what, const std::string& here, const std::string& rank_0) {
  if (here != rank_0)
    throw Error("dist: " + what + " is " + here + " here and " + rank_0 +
                " on rank 0: install the same exprun on all machines");
}

}  // namespace

ResolvedRecipe HandOver::resolved() const {
  return resolve(RecipeText::from_json(recipe), facts_of(data));
}

HandOver read_hand_over(const RunFolder& folder,
                        const std::optional<std::filesystem::path>& checkpoint) {
  return {folder, read_file(folder.recipe()), PreparedData::from_json(read_file(folder.data())),
          checkpoint};
}

void tell(Rendezvous& rendezvous, const HandOver& hand_over) {
  json message{{"exprun", version()},
               {"recipe_hash", hand_over.resolved().hash()},
               {"folder", hand_over.folder.path.string()},
               {"recipe", hand_over.recipe},
               {"data", hand_over.data.to_json()}};
  if (hand_over.checkpoint) message["checkpoint"] = hand_over.checkpoint->string();
  rendezvous.set(kKey, message.dump());
}

Heard hear(Rendezvous& rendezvous) {
  const json message = json::parse(rendezvous.get(kKey));
  if (message.contains("dismissed")) {
    rendezvous.set(heard_key(rendezvous.place().rank), "");
    return static_cast<ExitCode>(message["dismissed"].get<int>());
  }
  require_equal("the version of exprun", version(), message.at("exprun"));
  HandOver hand_over{{message.at("folder").get<std::string>()},
                     message.at("recipe"),
                     PreparedData::from_json(message.at("data")),
                     std::nullopt};
  if (message.contains("checkpoint"))
    hand_over.checkpoint = message["checkpoint"].get<std::string>();
  require_equal("the recipe's hash", hand_over.resolved().hash(), message.at("recipe_hash"));
  return hand_over;
}

// Rank 0 serves the rendezvous: it must not leave before all have heard.
void dismiss(Rendezvous& rendezvous, ExitCode code) {
  rendezvous.set(kKey, json{{"dismissed", static_cast<int>(code)}}.dump());
  for (int rank = 1; rank < rendezvous.place().world_size; ++rank) rendezvous.get(heard_key(rank));
}

}  // namespace exprun
