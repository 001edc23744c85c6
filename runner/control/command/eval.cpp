// exprun eval RUN [evaluation.NAME.key=value...]
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/number.h"
#include "control/command/arguments.h"
#include "control/command/offered_changes.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/launch/evaluate.h"
#include "control/launch/working_directory.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

// Anything else would make another model of the checkpoint.
void require_evaluation_keys(const Words& overrides) {
  for (const std::string& word : overrides)
    if (!word.substr(sign_of(word).size()).starts_with("evaluation."))
      throw Error("eval: '" + word + "' is no key of [evaluation]; a run is evaluated as it is",
                  ExitCode::bad_recipe);
}

std::string as_text(const nlohmann::ordered_json& results) {
  const std::string step = "step " + json_text(results.at("step")) + ": ";
  std::string text;
  for (const auto& [metric, value] : results.at("metrics").items())
    text +=
        step + metric + " " + (value.is_number() ? shortest(value.get<double>()) : "nan") + "\n";
  for (const auto& [name, written] : results.at("texts").items())
    text += step + name + ":\n" + written.get<std::string>() + "\n";
  return text;
}

// JSON has no nan and no infinity: null stands for both.
void warn_of_what_is_no_number(const nlohmann::ordered_json& results) {
  for (const auto& [metric, value] : results.at("metrics").items())
    if (value.is_null())
      log_warning("eval: " + metric + " is nan or infinite: the model has diverged by step " +
                  json_text(results.at("step")));
  for (const auto& [name, problem] : results.at("problems").items())
    log_warning("eval: " + name + ": " + problem.get<std::string>());
}

Words offered_evaluation_keys(const Typed& typed) {
  Words changes = offer::changes(typed);
  std::erase_if(
      changes, [](const std::string& change) { return change.find("evaluation.") == change.npos; });
  return changes;
}

}  // namespace

int run_eval(const Words& words, const Globals& globals) {
  std::string reference;
  Words overrides;
  bool json = false;
  Arguments arguments("eval RUN [evaluation.NAME.key=value...]",
                      "Runs a run's evaluations on its newest checkpoint.");
  arguments.run_word(reference)
      .words("key=value...", overrides, "changes in [evaluation], or evaluations besides",
             offered_evaluation_keys)
      .flag("--json", json, "as JSON, for a script")
      .note("Paths are read from the working directory of the run.")
      .exit_codes(kReadsRuns)
      .example("exprun eval @last", "everything that its recipe evaluates")
      .example("exprun eval @last evaluation.hellaswag.path=data/hellaswag/hellaswag_val.jsonl",
               "an evaluation that its recipe has not");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "eval");
  require_evaluation_keys(overrides);
  const Store store = open_store(globals.store);
  const RunRow run = find_run(store, globals.store, reference);
  const RecipeText text = understood_recipe(store, run, overrides, "eval", reference);
  const WorkingDirectory there(run);
  resolved_aloud(text, globals);
  auto results = evaluate(globals.store, run, text, "");
  if (!results) return static_cast<int>(ExitCode::bad_recipe);
  warn_of_what_is_no_number(*results);
  results->erase("problems");
  json ? print(results->dump() + "\n") : print_foreign(as_text(*results));
  return 0;
}

}  // namespace exprun
