// exprun sample RUN [--prompt TEXT] [key=value...]
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "control/command/arguments.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/launch/evaluate.h"
#include "control/report/terminal.h"

namespace exprun {

int run_sample(const Words& words, const Globals& globals) {
  std::string reference, prompt;
  Words settings;
  Arguments arguments("sample RUN [--prompt TEXT] [key=value...]",
                      "Lets the newest checkpoint of a run write text after a prompt.");
  arguments.word("RUN", reference, "its folder, id, uid, name (the newest of it), or @last")
      .words("key=value...", settings,
             "keys of the evaluation `sample`: tokens, temperature, top_k, top_p, samples, seed")
      .option("--prompt", "TEXT", prompt, "what the text begins with; else the recipe's")
      .example("exprun sample @last --prompt \"ROMEO:\" temperature=0.5 tokens=300",
               "300 tokens, likely ones");
  if (!arguments.parse(words)) return 0;
  require_overrides(settings, "sample");
  Words overrides = {"evaluation.sample.type=\"sample\""};
  if (!prompt.empty())
    overrides.push_back("evaluation.sample.prompt=" + json_text(nlohmann::json(prompt)));
  for (const std::string& setting : settings) overrides.push_back("evaluation.sample." + setting);
  const Store store = open_store(globals.store);
  const RunRow run = find_run(store, globals.store, reference);
  const auto results = evaluate(store, globals.store, run, overrides, "sample");
  if (!results) return static_cast<int>(ExitCode::bad_recipe);
  print(results->at("texts").at("sample").get<std::string>() + "\n");
  return 0;
}

}  // namespace exprun
