// exprun eval RUN [evaluation.NAME.key=value...]
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "control/command/arguments.h"
#include "control/command/override_completions.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/command/weights_argument.h"
#include "control/launch/prepared_launch.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

// Anything else would make another model of the checkpoint.
void require_evaluation_keys(const Words& overrides) {
  for (const std::string& word : overrides)
    if (!word.substr(sign_of(word).size()).starts_with("evaluation."))
      throw Error("eval: '" + word +
                      "' is not a key of [evaluation]; other keys of a run cannot be changed",
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

// An earlier result of the same step, with other settings of the evaluation.
void say_what_is_replaced(const Store& store, const RunRow& run, int64_t step,
                          const std::map<std::string, double>& metrics) {
  for (const auto& [metric, value] : metrics) {
    const auto before = store.values_at("eval/" + metric, step);
    const auto known = before.find(run.id);
    if (known == before.end()) continue;
    const bool same = known->second == value || (std::isnan(known->second) && std::isnan(value));
    if (same) continue;
    log_warning("eval: eval/" + metric + " of step " + std::to_string(step) + " was recorded as " +
                shortest(known->second) + " before, and is now " + shortest(value));
  }
}

// Shown by report as eval/NAME. Results that cannot be recorded are printed all the same.
void record(const Globals& globals, const RunRow& run, const nlohmann::ordered_json& results) try {
  std::map<std::string, double> metrics;
  for (const auto& [metric, value] : results.at("metrics").items())
    metrics[metric] = value.is_number() ? value.get<double>() : std::nan("");
  if (metrics.empty()) return;
  const auto step = results.at("step").get<int64_t>();
  Store store = open_store_to_change(globals.store);
  say_what_is_replaced(store, run, step, metrics);
  store.record_evaluation(run.id, step, metrics);
} catch (const Error& error) {
  log_warning(std::string("eval: the results were not recorded: ") + error.what());
}

Words offered_evaluation_keys(const Typed& typed) {
  Words changes = offer::changes(typed);
  std::erase_if(
      changes, [](const std::string& change) { return change.find("evaluation.") == change.npos; });
  return changes;
}

}  // namespace

int run_eval(const Words& words, const Globals& globals) {
  std::string word, step = "last";
  Words overrides;
  bool json = false;
  Arguments arguments("eval RUN|DIR [evaluation.NAME.key=value...]",
                      "Evaluates a run's newest checkpoint, or another, and records the results as "
                      "eval/NAME. For a HuggingFace folder, the results are only printed.");
  arguments.word("RUN|DIR", word, kWeightsHelp, offer::runs)
      .words("key=value...", overrides, "changes to [evaluation], or additional evaluations",
             offered_evaluation_keys)
      .option("--step", "N|best|last", step, kStepHelp, offer::one_of({"best", "last"}))
      .flag("--json", json, "print JSON")
      .note("Paths are relative to the working directory of the run.")
      .exit_codes(kReadsRuns)
      .example("exprun eval @last", "all evaluations of its recipe")
      .example("exprun eval @last --step best", "the same of the checkpoint with the best value")
      .example("exprun eval @last evaluation.hellaswag.path=data/hellaswag/hellaswag_val.jsonl",
               "an evaluation that is not in its recipe")
      .example("exprun eval models/gpt2 evaluation.perplexity.path=text.txt",
               "the weights of a HuggingFace folder");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "eval");
  require_evaluation_keys(overrides);
  WeightsArgument weights("eval", word, step, globals);
  const RecipeText text = weights.recipe(overrides);
  const WorkingDirectory there(weights.run());
  const bool is_empty = resolved_aloud(text, globals).section("evaluation").keys().empty();
  const EvaluatedWeights located = weights.located(text);
  if (is_empty)
    throw Error(
        "eval: there is no evaluation; name one, such as evaluation.perplexity.path=FILE "
        "(exprun schema evaluation lists them)",
        ExitCode::bad_recipe);
  auto results = evaluate(located);
  if (!results) return static_cast<int>(ExitCode::bad_recipe);
  warn_of_what_is_no_number(*results);
  if (weights.run()) record(globals, *weights.run(), *results);
  results->erase("problems");
  json ? print(results->dump() + "\n") : print_foreign(as_text(*results));
  return 0;
}

}  // namespace exprun
