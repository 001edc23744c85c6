// exprun sample RUN [--prompt TEXT] [key=value...]
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "control/command/arguments.h"
#include "control/command/offered_changes.h"
#include "control/command/recipe_words.h"
#include "control/command/sample_settings.h"
#include "control/command/stored_runs.h"
#include "control/launch/evaluate.h"
#include "control/launch/working_directory.h"
#include "control/report/terminal.h"

namespace exprun {

namespace {

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
  return offered_changes_in(kSampleTable, recipe, typed.last);
}

}  // namespace

int run_sample(const Words& words, const Globals& globals) {
  std::string reference, prompt;
  Words settings;
  Arguments arguments("sample RUN [--prompt TEXT] [key=value...]",
                      "Lets the newest checkpoint of a run write text after a prompt.");
  arguments.run_word(reference)
      .words("key=value...", settings,
             "keys of the evaluation `sample`: tokens, temperature, top_k, top_p, samples, seed",
             offered_sample_keys)
      .option("--prompt", "TEXT", prompt, "what the text begins with; else the recipe's")
      .exit_codes(kReadsRuns)
      .example("exprun sample @last --prompt \"ROMEO:\" temperature=0.5 tokens=300",
               "300 tokens, likely ones");
  if (!arguments.parse(words)) return 0;
  require_overrides(settings, "sample");
  Words overrides = {kAsSample};
  if (!prompt.empty())
    overrides.push_back(std::string(kSampleTable) + ".prompt=" + json_text(nlohmann::json(prompt)));
  for (const std::string& setting : settings) overrides.push_back(change_in(kSampleTable, setting));
  const Store store = open_store(globals.store);
  const RunRow run = find_run(store, globals.store, reference);
  const RecipeText text = understood_recipe(store, run, overrides, "sample", reference);
  const WorkingDirectory there(run);
  refuse_mistakes(text, settings, globals);
  const auto results = evaluate(globals.store, run, text, "sample");
  if (!results) return static_cast<int>(ExitCode::bad_recipe);
  for (const auto& [name, problem] : results->at("problems").items())
    throw Error("sample: at step " + json_text(results->at("step")) + " of " + run.folder + ' ' +
                problem.get<std::string>());
  print_foreign(results->at("texts").at("sample").get<std::string>() + "\n");
  return 0;
}

}  // namespace exprun
