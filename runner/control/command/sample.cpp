// exprun sample RUN|DIR [--prompt TEXT]... [key=value...]
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "control/command/arguments.h"
#include "control/command/command.h"
#include "control/command/override_completions.h"
#include "control/command/recipe_words.h"
#include "control/command/weights_argument.h"
#include "control/launch/prepared_launch.h"
#include "control/report/terminal.h"
#include "recipe/key_path.h"
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
    const KeySynonym* synonym = key_synonym(key);
    const auto near = synonym && std::string_view(synonym->path).starts_with(kPrefix)
                          ? std::optional(last_part(synonym->path))
                          : nearest(key, names);
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

const std::string kAsSample = std::string(kSampleTable) + ".type=\"sample\"";

// Throws RecipeError.
void refuse_mistakes(const RecipeText& text, const Words& settings) {
  RecipeText before = text;
  before.overrides.resize(text.overrides.size() - settings.size());
  require_sample_keys(before, settings);
  const Diagnostics said = judged_as_typed(text, settings);
  if (has_errors(said)) throw RecipeError(said);
}

Words offered_sample_keys(const Typed& typed) {
  RecipeText recipe = offer::named_recipe({typed.last, {typed.before[0]}, typed.store});
  recipe.overrides.push_back(kAsSample);
  return override_completions_in(kSampleTable, recipe, typed.last);
}

// Asks for prompts at a terminal, until Ctrl-D.
std::optional<std::string> typed_prompt() {
  std::string line;
  for (;;) {
    print("> ");
    std::cout.flush();
    if (!std::getline(std::cin, line)) {
      print("\n");
      return std::nullopt;
    }
    if (!line.empty()) return line;
  }
}

// Prints texts as they are written, each behind its prompt.
class TextPrinter {
 public:
  explicit TextPrinter(bool interactive) : interactive_(interactive) {}

  void prompted(const std::string& prompt) { prompt_ = prompt; }

  void write(const std::string& piece) {
    begin();
    print_foreign(piece);
    std::cout.flush();
  }

  void end() {
    begin();
    print("\n");
    under_way_ = false;
  }

  // Of a text that has broken off.
  void end_line() {
    if (std::exchange(under_way_, false)) print("\n");
  }

 private:
  void begin() {
    if (std::exchange(under_way_, true)) return;
    if (std::exchange(any_, true) && !interactive_) print("---\n");
    print_foreign(prompt_);
  }

  bool interactive_, any_ = false, under_way_ = false;
  std::string prompt_;
};

std::string problem_of(const std::string& prompt) {
  const auto byte = first_invalid_byte(prompt);
  return byte ? "the prompt is not UTF-8: byte " + std::to_string(*byte) : "";
}

// One that can be used, of those that are typed.
std::optional<std::string> usable_prompt() {
  while (auto prompt = typed_prompt()) {
    const std::string problem = problem_of(*prompt);
    if (problem.empty()) return prompt;
    log_warning("sample: " + problem);
  }
  return std::nullopt;
}

// The texts of all prompts; without one at a terminal those that are typed there.
int print_texts(const EvaluatedWeights& weights, const Words& prompts, bool interactive) {
  TextPrinter printer(interactive);
  size_t next = 0;
  if (interactive) log_info("type a prompt, then Enter; Ctrl-D ends");
  SampleTerminal terminal;
  terminal.next_prompt = [&]() -> std::optional<std::string> {
    std::optional<std::string> prompt;
    if (interactive)
      prompt = usable_prompt();
    else if (next < prompts.size())
      prompt = prompts[next++];
    if (prompt) printer.prompted(*prompt);
    return prompt;
  };
  terminal.piece = [&](const std::string& piece) { printer.write(piece); };
  terminal.end_of_text = [&] { printer.end(); };
  terminal.problem = [&](const std::string& why) {
    printer.end_line();
    if (!interactive) throw Error("sample: " + weights.name + ", " + why);
    log_warning("sample: " + why);
  };
  return sample(weights, terminal) ? 0 : static_cast<int>(ExitCode::bad_recipe);
}

}  // namespace

int run_sample(const Words& words, const Globals& globals) {
  std::string word, step = "last";
  Words prompts, settings;
  Arguments arguments("sample RUN|DIR [--prompt TEXT]... [key=value...]",
                      "Generates text from a run's newest checkpoint, or another, after a prompt. "
                      "Without a prompt it asks for one after another if you are at a terminal.");
  arguments.word("RUN|DIR", word, kWeightsHelp, offer::runs)
      .words("key=value...", settings,
             "keys of the evaluation `sample`: tokens, temperature, top_k, top_p, stop, samples, "
             "seed",
             offered_sample_keys)
      .option(
          "--prompt", "TEXT", prompts,
          "the start of the text; may be repeated (default, unless at a terminal: the prompt of "
          "the recipe)")
      .option("--step", "N|best|last", step, kStepHelp, offer::one_of({"best", "last"}))
      .exit_codes(kReadsRuns)
      .example("exprun sample @last --prompt \"ROMEO:\" temperature=0.5 tokens=300",
               "300 tokens at a low temperature")
      .example("exprun sample @last --step best", "from the checkpoint with the best value")
      .example("exprun sample @last --prompt \"Q: Why?\" 'stop=[\"\\n\"]'",
               "to the end of the line")
      .example("exprun sample models/gpt2", "the weights of a HuggingFace folder");
  if (!arguments.parse(words)) return 0;
  if (settings.size() == 1 && settings[0].find('=') == std::string::npos &&
      sign_of(settings[0]).empty())
    throw Error("sample: '" + settings[0] + "' is not key=value; for a prompt write --prompt " +
                    shell_quoted(settings[0]),
                ExitCode::bad_recipe);
  for (const std::string& prompt : prompts)
    if (const std::string problem = problem_of(prompt); !problem.empty())
      throw Error("sample: " + problem, ExitCode::bad_recipe);
  require_overrides(settings, "sample");
  Words overrides = {kAsSample};
  if (!prompts.empty())
    overrides.push_back(std::string(kSampleTable) +
                        ".prompt=" + json_text(nlohmann::json(prompts.front())));
  for (const std::string& setting : settings) overrides.push_back(change_in(kSampleTable, setting));
  const WeightsArgument weights("sample", word, step, globals);
  const RecipeText text = weights.recipe(overrides);
  const WorkingDirectory there(weights.run());
  refuse_mistakes(text, settings);
  const bool interactive = prompts.empty() && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
  if (prompts.empty())
    prompts = {
        try_resolve(text).recipe.section("evaluation").table("sample").get<std::string>("prompt")};
  return print_texts(weights.located(text), prompts, interactive);
}

}  // namespace exprun
