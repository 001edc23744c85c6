#include "control/launch/evaluate.h"

#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/run_folder.h"
#include "control/launch/process/capture.h"
#include "control/launch/trainer_program.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

std::string request(const RecipeText& text, const std::string& only) {
  return json_text(ordered_json{{"recipe", parse_json<ordered_json>(text.to_json())},
                                {"only", only.empty() ? ordered_json() : ordered_json(only)}});
}

}  // namespace

std::optional<ordered_json> evaluate(const StoreFolder& folder, const RunRow& run,
                                     const RecipeText& text, const std::string& only) {
  const RunFolder run_folder = folder.run(run.folder);
  const auto checkpoints = complete_checkpoints(run_folder);
  if (checkpoints.empty())
    throw Error("evaluate: " + run.folder + " has no complete checkpoint to look at");
  const Captured captured =
      capture({able_trainer_program().string(), "--evaluate", "--run-folder",
               run_folder.path.string(), "--resume-from", checkpoints.front().path.string()},
              request(text, only));
  if (captured.status == static_cast<int>(ExitCode::bad_recipe)) return std::nullopt;
  ordered_json results = parse_json_or_discard<ordered_json>(captured.output);
  if (captured.status != 0 || !results.is_object())
    throw Error("evaluate: exprun-trainer ended with exit code " + std::to_string(captured.status));
  return results;
}

}  // namespace exprun
