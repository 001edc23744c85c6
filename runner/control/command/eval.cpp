// exprun eval RUN [evaluation.NAME.key=value...]
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/arguments.h"
#include "control/command/override_completions.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/command/weights_argument.h"
#include "control/launch/prepared_launch.h"
#include "control/report/terminal.h"
#include "recipe/schema/key_lookup.h"

namespace exprun {
namespace {

// The keys of evaluations that `key`, which has no dot, may mean.
Words evaluation_keys(const Table& root, const std::string& key) {
  Words keys = declared_paths(SchemaSet::embedded(), root);
  std::erase_if(keys, [&](const std::string& path) {
    return !path.starts_with("evaluation.") || !path.ends_with("." + key) || key == "type";
  });
  return keys;
}

// Here a short key, such as `tokens`, is that of the evaluation that has one. Throws Error where
// several have.
Words in_evaluations(Words changes, const Table& root) {
  for (std::string& change : changes) {
    const size_t sign = sign_of(change).size();
    const std::string key = change.substr(sign, change.find('=', sign) - sign);
    if (key.find('.') != key.npos) continue;
    const Words keys = evaluation_keys(root, key);
    if (keys.size() > 1)
      throw Error("eval: '" + change + "' names several keys: " + alternatives(keys) +
                      "; write one of them whole",
                  ExitCode::bad_recipe);
    if (keys.size() == 1) change.replace(sign, key.size(), keys.front());
  }
  return changes;
}

// Any other change would make another model of the checkpoint. `recipe` has the `changes` last.
void require_evaluation_keys(const ResolvedRecipe& recipe, const Words& changes) {
  const size_t before = recipe.overrides().size() - changes.size();
  for (size_t i = 0; i < changes.size(); ++i) {
    const std::string& whole = recipe.overrides()[before + i];
    const std::string key = whole.substr(sign_of(whole).size());
    if (key.starts_with("evaluation.")) continue;
    throw Error("eval: '" + changes[i] + "' changes " + key.substr(0, key.find('=')) +
                    "; only keys of [evaluation] can be changed here, such as "
                    "evaluation.val_loss.tokens",
                ExitCode::bad_recipe);
  }
}

// What makes results of `changed` other quantities than those of the run's own evaluations: "" if
// nothing does. Additional evaluations do not.
std::string changed_evaluations(const ResolvedRecipe& own, const ResolvedRecipe& changed) {
  std::string text;
  for (const Difference& difference : differences(own, changed)) {
    const std::string& path = difference.path;
    const std::string table = path.substr(0, path.find('.', std::string("evaluation.").size()));
    if (!path.starts_with("evaluation.") || !own.find(table) || !changed.find(table)) continue;
    if (path.ends_with(".every")) continue;  // it is evaluated now
    const auto or_none = [](const std::string& value) { return value.empty() ? "none" : value; };
    text += (text.empty() ? "" : ", ") + path + " " + or_none(difference.a) + " -> " +
            or_none(difference.b);
  }
  return text;
}

// As the log of a run has it; JSON has every digit. A folder has no steps.
std::string as_text(const nlohmann::ordered_json& results, bool is_run) {
  const std::string step = is_run ? "step " + json_text(results.at("step")) + ": " : "";
  std::string text;
  for (const auto& [metric, value] : results.at("metrics").items())
    text +=
        step + metric + " " + (value.is_number() ? fixed(value.get<double>(), 4) : "nan") + "\n";
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

// An earlier result of the same step: of other data, or of another build.
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

// Shown by report as eval/METRIC, or as eval/NAME/METRIC. Results that cannot be recorded are
// printed all the same.
void record(const Globals& globals, const RunRow& run, const nlohmann::ordered_json& results,
            const std::string& name) try {
  std::map<std::string, double> metrics;
  for (const auto& [metric, value] : results.at("metrics").items())
    metrics[(name.empty() ? "" : name + "/") + metric] =
        value.is_number() ? value.get<double>() : std::nan("");
  if (metrics.empty()) return;
  const auto step = results.at("step").get<int64_t>();
  Store store = open_store_to_change(globals.store);
  say_what_is_replaced(store, run, step, metrics);
  store.record_evaluation(run.id, step, metrics);
  if (name.empty()) return;
  for (const auto& [metric, value] : metrics) log_info("eval: recorded eval/" + metric);
} catch (const Error& error) {
  log_warning(std::string("eval: the results were not recorded: ") + error.what());
}

// A part of a series' name.
void require_name(const std::string& name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  if (!std::all_of(name.begin(), name.end(), is_plain))
    throw Error("eval: --as takes a name of letters, digits, '_' and '-', not '" + name + "'",
                ExitCode::bad_recipe);
}

Words offered_evaluation_keys(const Typed& typed) {
  Words changes = offer::changes(typed);
  std::erase_if(
      changes, [](const std::string& change) { return change.find("evaluation.") == change.npos; });
  return changes;
}

}  // namespace

int run_eval(const Words& words, const Globals& globals) {
  std::string word, step = "last", name, tokenizer;
  Words overrides;
  bool json = false;
  Arguments arguments(
      "eval RUN|DIR [evaluation.NAME.key=value...]",
      "Evaluates a run's newest checkpoint or another one, and records the results as "
      "eval/METRIC. For a HuggingFace folder, the results are only printed; the same is true if "
      "a setting of the run's own evaluations is changed, unless --as is given.");
  arguments.word("RUN|DIR", word, kWeightsHelp, offer::runs)
      .words("key=value...", overrides, "changes to [evaluation], or additional evaluations",
             offered_evaluation_keys)
      .option("--step", "N|best|last", step, kStepHelp, offer::one_of({"best", "last"}))
      .option("--as", "NAME", name, "record the results as eval/NAME/METRIC")
      .option("--tokenizer", "PATH", tokenizer, kTokenizerHelp, offer::files)
      .flag("--json", json, "print JSON at full precision")
      .note("Paths are relative to the working directory of the run.")
      .exit_codes(kReadsRuns)
      .example("exprun eval @last", "all evaluations in its recipe")
      .example("exprun eval @last --step best", "the same for the best checkpoint")
      .example("exprun eval @last evaluation.hellaswag.path=data/hellaswag/hellaswag_val.jsonl",
               "an evaluation that is not in its recipe")
      .example("exprun eval @last evaluation.val_loss.tokens=auto --as whole",
               "the whole validation split, recorded as eval/whole/val/loss")
      .example("exprun eval models/gpt2 evaluation.perplexity.path=text.txt",
               "the weights of a HuggingFace folder");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "eval");
  require_name(name);
  WeightsArgument weights("eval", word, step, tokenizer, globals);
  if (!name.empty() && !weights.run())
    throw Error("eval: --as is for the results of a run; those of a HuggingFace folder are printed",
                ExitCode::bad_recipe);
  overrides = in_evaluations(overrides, try_resolve(weights.recipe({})).recipe.root());
  const RecipeText text = weights.recipe({}, overrides);
  const WorkingDirectory there(weights.run());
  const ResolvedRecipe recipe = resolved_aloud(text);
  require_evaluation_keys(recipe, overrides);
  const bool is_empty = recipe.section("evaluation").keys().empty();
  const EvaluatedWeights located = weights.located(text);
  if (is_empty)
    throw Error(
        "eval: there is no evaluation; name one, such as evaluation.perplexity.path=FILE "
        "(exprun schema evaluation lists them)",
        ExitCode::bad_recipe);
  auto results = evaluate(located);
  if (!results) return static_cast<int>(ExitCode::bad_recipe);
  warn_of_what_is_no_number(*results);
  if (weights.run()) {
    const std::string changed = changed_evaluations(resolve(weights.recipe({})), recipe);
    if (!name.empty() || changed.empty())
      record(globals, *weights.run(), *results, name);
    else
      log_info("eval: not recorded, because the settings are not the run's (" + changed +
               "); to record the results as eval/NAME/METRIC, add --as NAME");
  }
  results->erase("problems");
  json ? print(results->dump() + "\n")
       : print_foreign(as_text(*results, weights.run().has_value()));
  return 0;
}

}  // namespace exprun
