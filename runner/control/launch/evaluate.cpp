#include "control/launch/evaluate.h"

#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "control/launch/intact_checkpoint.h"
#include "control/launch/process/capture.h"
#include "control/launch/trainer_program.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

std::string request(const RecipeText& text, const std::string& only) {
  return json_text(ordered_json{{"recipe", parse_json<ordered_json>(text.to_json())},
                                {"only", only.empty() ? ordered_json() : ordered_json(only)}});
}

Error nothing_to_look_at(const std::string& run, const std::vector<std::string>& damaged) {
  std::string text = "evaluate: " + run + " has no intact checkpoint to look at";
  if (damaged.empty()) return Error(text);
  text += ':';
  for (const std::string& reason : damaged) text += "\n  " + reason;
  return Error(text + "\n  bring back a copy of one, or `exprun rerun " + run +
               "` makes the run again");
}

CheckpointFolder checkpoint_of(const StoreFolder& folder, const std::string& run) {
  std::vector<std::string> passed_over;
  const auto checkpoint = newest_intact(folder.run(run), passed_over);
  if (!checkpoint) throw nothing_to_look_at(run, passed_over);
  warn_of(passed_over);
  return *checkpoint;
}

}  // namespace

std::optional<ordered_json> evaluate(const StoreFolder& folder, const RunRow& run,
                                     const RecipeText& text, const std::string& only) {
  const CheckpointFolder checkpoint = checkpoint_of(folder, run.folder);
  const Captured captured =
      capture({able_trainer_program().string(), "--evaluate", "--run-folder",
               folder.run(run.folder).path.string(), "--resume-from", checkpoint.path.string()},
              request(text, only));
  if (captured.status == static_cast<int>(ExitCode::bad_recipe)) return std::nullopt;
  ordered_json results = parse_json_or_discard<ordered_json>(captured.output);
  if (captured.status != 0 || !results.is_object())
    throw Error("evaluate: exprun-trainer ended with exit code " + std::to_string(captured.status));
  return results;
}

}  // namespace exprun
