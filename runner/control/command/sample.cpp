#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "control/command/arguments.h"
#include "control/command/command.h"
#include "control/command/override_completions.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/run/checkpoint_choice.h"
#include "control/launch/trainer_program.h"
#include "control/report/terminal.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "recipe/schema/key_lookup.h"

namespace exprun {
namespace {

// The settings of `exprun sample`: changes of [evaluation.sample], whose keys stand alone.
inline constexpr const char* kSampleTable = "evaluation.sample";

const std::string kPrefix = std::string(kSampleTable) + '.';

Words names_of_keys(const SchemaSet& schemas, const Table& root) {
  Words names;
  for (const std::string& path : declared_paths(schemas, root))
    if (path.starts_with(kPrefix)) names.push_back(path.substr(kPrefix.size()));
  return names;
}

// Without the table's name before the key.
SourceSpan in_setting(const SourceSpan& where, size_t number, const std::string& setting) {
  SourceSpan typed = where;
  typed.file = override_file(number, setting);
  if (where.line > 1) return typed;
  const auto sign = static_cast<uint32_t>(sign_of(setting).size());
  const auto prefix = static_cast<uint32_t>(kPrefix.size());
  const auto moved = [&](uint32_t column) {
    return column <= sign + 1 ? column : std::max(sign + 1, column - std::min(column, prefix));
  };
  typed.column = moved(where.column);
  typed.length = std::max(moved(where.column + where.length) - typed.column, 1U);
  return typed;
}

// Throws RecipeError for keys that the table of `text`, a recipe with it, has not: those that are
// near in other tables are no help.
void require_sample_keys(const RecipeText& text, const Words& settings) {
  const Resolution resolution = try_resolve(text);
  const SchemaSet& schemas = resolution.recipe.schemas();
  const Words names = names_of_keys(schemas, resolution.recipe.root());
  Diagnostics unknown;
  for (size_t i = 0; i < settings.size(); ++i) {
    const size_t sign = sign_of(settings[i]).size();
    const std::string key = settings[i].substr(sign, settings[i].find('=') - sign);
    if (schema_at(schemas, resolution.recipe.root(), kPrefix + key) != nullptr) continue;
    const auto near = nearest(key, names);
    unknown.push_back({span_of(override_file(i + 1, settings[i]), sign, key.size()),
                       "unknown key '" + key + "' of a sample",
                       near ? "did you mean '" + *near + "'?" : "its keys are " + listed(names)});
  }
  if (!unknown.empty()) throw RecipeError(std::move(unknown));
}

// What there is to say about `text`, whose last overrides are the settings as changes of the table:
// at the places of what was typed.
Diagnostics judged_as_typed(const RecipeText& text, const Words& settings) {
  Diagnostics diagnostics = try_resolve(text).diagnostics;
  const size_t before = text.overrides.size() - settings.size();
  for (Diagnostic& diagnostic : diagnostics)
    for (size_t i = 0; diagnostic.where && i < settings.size(); ++i) {
      if (diagnostic.where.file->name != override_file(before + i + 1, "")->name) continue;
      diagnostic.where = in_setting(diagnostic.where, i + 1, settings[i]);
      break;
    }
  return diagnostics;
}

// exprun sample RUN [--prompt TEXT] [key=value...]

const std::string kAsSample = std::string(kSampleTable) + ".type=\"sample\"";

// Throws RecipeError.
void refuse_mistakes(const RecipeText& text, const Words& settings, const Globals& globals) {
  RecipeText before = text;
  before.overrides.resize(text.overrides.size() - settings.size());
  require_sample_keys(before, settings);
  const Diagnostics said = judged_as_typed(text, settings);
  if (has_errors(said)) throw RecipeError(said);
  show_warnings(said, globals);
}

Words offered_sample_keys(const Typed& typed) {
  RecipeText recipe = offer::named_recipe({typed.last, {typed.before[0]}, typed.store});
  recipe.overrides.push_back(kAsSample);
  return override_completions_in(kSampleTable, recipe, typed.last);
}

}  // namespace

int run_sample(const Words& words, const Globals& globals) {
  std::string reference, prompt, step = "last";
  Words settings;
  Arguments arguments("sample RUN [--prompt TEXT] [key=value...]",
                      "Generates text from a run's newest checkpoint, or another, after a prompt.");
  arguments.run_word(reference)
      .words("key=value...", settings,
             "keys of the evaluation `sample`: tokens, temperature, top_k, top_p, samples, seed",
             offered_sample_keys)
      .option("--prompt", "TEXT", prompt,
              "the start of the text (default: the prompt of the recipe)")
      .option("--step", "N|best|last", step, kStepHelp, offer::one_of({"best", "last"}))
      .exit_codes(kReadsRuns)
      .example("exprun sample @last --prompt \"ROMEO:\" temperature=0.5 tokens=300",
               "300 tokens at a low temperature")
      .example("exprun sample @last --step best", "from the checkpoint with the best value");
  if (!arguments.parse(words)) return 0;
  require_overrides(settings, "sample");
  const CheckpointChoice choice = checkpoint_choice("sample", step);
  Words overrides = {kAsSample};
  if (!prompt.empty())
    overrides.push_back(std::string(kSampleTable) + ".prompt=" + json_text(nlohmann::json(prompt)));
  for (const std::string& setting : settings) overrides.push_back(change_in(kSampleTable, setting));
  const Store store = open_store(globals.store);
  const RunRow run = find_run(store, globals.store, reference);
  const RecipeText text = understood_recipe(store, run, overrides, "sample", reference);
  const WorkingDirectory there(run);
  refuse_mistakes(text, settings, globals);
  const CheckpointFolder checkpoint =
      chosen_checkpoint(globals.store, run.folder, choice, "sample");
  const auto results = evaluate(globals.store, run, checkpoint, text, "sample");
  if (!results) return static_cast<int>(ExitCode::bad_recipe);
  for (const auto& [name, problem] : results->at("problems").items())
    throw Error("sample: at step " + json_text(results->at("step")) + " of " + run.folder + ", " +
                problem.get<std::string>());
  print_foreign(results->at("texts").at("sample").get<std::string>() + "\n");
  return 0;
}

}  // namespace exprun
