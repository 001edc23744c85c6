// exprun eval RUN [evaluation.NAME.key=value...]
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "control/command/line/arguments.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/command/line/unknown_option.h"
#include "control/command/line/weights_argument.h"
#include "control/command/stored/recorded_evaluations.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/run/run_data.h"
#include "control/report/standard_output.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/key_synonyms.h"

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

// "perplexity.tokens", of an evaluation that the recipe has or that one is named after.
bool is_in_evaluation(const Table& root, const std::string& key) {
  const std::string name = key.substr(0, key.find('.'));
  const Words types = SchemaSet::embedded().types("evaluation");
  return find_path(root, "evaluation." + name) != nullptr ||
         std::find(types.begin(), types.end(), name) != types.end();
}

// Of a key that nothing in the recipe has: only those of evaluations may be meant.
void require_known(const Table& root, const std::string& change, const std::string& key) {
  if (key.starts_with("evaluation.") || !matching_paths(SchemaSet::embedded(), root, key).empty())
    return;
  const KeySynonym* const synonym = key_synonym(key);
  if (synonym && std::string_view(synonym->path).starts_with("evaluation.")) return;
  const size_t equals = change.find('=');
  const std::string value = equals == change.npos ? "" : change.substr(equals + 1);
  if (const auto sampling = sampling_change(key, value, {}))
    throw Error("eval: '" + change + "' sets how text is sampled, and this recipe has no " +
                    "[evaluation.sample]; exprun sample RUN takes " + *sampling,
                ExitCode::bad_recipe);
  Words names;
  for (const std::string& path : declared_paths(SchemaSet::embedded(), root))
    if (path.starts_with("evaluation.")) names.push_back(last_part(path));
  const auto near = nearest(last_part(key), names);
  throw Error(
      "eval: '" + change + "' changes no key of [evaluation]" +
          (near ? "; did you mean '" + *near + "'?" : ", such as evaluation.val_loss.tokens"),
      ExitCode::bad_recipe);
}

// Here a short key, such as `tokens`, is that of the evaluation that has one. Throws Error where
// several have, or none.
Words in_evaluations(Words changes, const Table& root) {
  for (std::string& change : changes) {
    const size_t sign = sign_of(change).size();
    const std::string key = change.substr(sign, change.find('=', sign) - sign);
    if (key.find('.') != key.npos) {
      if (is_in_evaluation(root, key))
        change.insert(sign, "evaluation.");
      else
        require_known(root, change, key);
      continue;
    }
    const Words keys = evaluation_keys(root, key);
    if (keys.size() > 1)
      throw Error("eval: '" + change + "' names several keys: " + alternatives(keys) +
                      "; write one of them whole",
                  ExitCode::bad_recipe);
    if (keys.size() == 1)
      change.replace(sign, key.size(), keys.front());
    else
      require_known(root, change, key);
  }
  return changes;
}

// Of a change of the data, which people make to evaluate another text: one file, as it is.
std::string on_another_text(const ResolvedRecipe& recipe, const std::string& key) {
  const bool is_text = text_at(recipe.root(), "dataset.type") == "text" &&
                       (key == "dataset.path" || key == "dataset.validation");
  const auto file = is_text ? text_at(recipe.root(), key) : std::nullopt;
  if (!file || !file_exists(*file)) return "";
  return "; evaluation.perplexity.path=" + shell_quoted(*file) + " evaluates another text";
}

// Any other change would make another model of the checkpoint. `recipe` has the `changes` last.
void require_evaluation_keys(const ResolvedRecipe& recipe, const Words& changes) {
  const size_t before = recipe.overrides().size() - changes.size();
  for (size_t i = 0; i < changes.size(); ++i) {
    const std::string& whole = recipe.overrides()[before + i];
    const std::string key = whole.substr(sign_of(whole).size());
    if (key.starts_with("evaluation.")) continue;
    const size_t equals = std::min(key.find('='), key.size());
    const std::string path = key.substr(0, equals);
    throw Error("eval: '" + changes[i] + "' changes " + path +
                    "; only keys of [evaluation] can be changed here, such as "
                    "evaluation.val_loss.tokens" +
                    on_another_text(recipe, path),
                ExitCode::bad_recipe);
  }
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
  std::string word, step, name, tokenizer;
  Words overrides;
  bool json = false;
  Arguments arguments(
      "eval RUN|DIR [evaluation.NAME.key=value...]",
      "Evaluates a run's newest checkpoint or another one, and records the results as "
      "eval/METRIC. Results are printed but not recorded in three cases: for a HuggingFace folder; "
      "if a setting of one of the run's own evaluations is changed; or if an additional "
      "evaluation's settings differ from those of results already recorded under its name. In the "
      "last two cases, --as records the results under another name.");
  arguments.word("RUN|DIR", word, kWeightsHelp, offer::runs)
      .words("key=value...", overrides,
             "overrides of keys of [evaluation], or additional evaluations",
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
      .example("exprun eval @last evaluation.perplexity.path=text.txt",
               "the perplexity of another text")
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
  const Resolution own = try_resolve(weights.recipe({}));
  overrides = in_evaluations(overrides, own.recipe.root());
  const RecipeText text = weights.recipe({}, overrides);
  const WorkingDirectory there(weights.run());
  const ResolvedRecipe recipe =
      resolved_aloud(text, weights.run() ? own.diagnostics : Diagnostics());
  require_evaluation_keys(recipe, overrides);
  const bool is_empty = recipe.section("evaluation").keys().empty();
  EvaluatedWeights located = weights.located(text);
  if (is_empty)
    throw Error(
        "eval: there is no evaluation; name one, such as evaluation.perplexity.path=FILE "
        "(exprun schema evaluation lists them)",
        ExitCode::bad_recipe);
  if (weights.run()) located.data = restore_validation(*weights.run(), globals.store, recipe);
  const Evaluated evaluated{own.recipe, recipe, name};
  const std::string why_not =
      weights.run() ? why_not_recorded(open_store(globals.store), *weights.run(), evaluated) : "";
  if (!why_not.empty()) log_warning("eval: the results will not be recorded, because " + why_not);
  auto [exit_code, results] = evaluate(located);
  if (exit_code != 0) return exit_code;
  warn_of_what_is_no_number(results);
  if (weights.run() && why_not.empty()) {
    try {
      Store store = open_store_to_change(globals.store);
      record_evaluations(store, *weights.run(), evaluated, results);
    } catch (const Error& error) {
      log_warning(std::string("eval: the results were not recorded: ") + error.what());
    }
  }
  results.erase("problems");
  json ? print(results.dump() + "\n") : print_foreign(as_text(results, weights.run().has_value()));
  return 0;
}

}  // namespace exprun
