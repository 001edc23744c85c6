// exprun sample
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/machine/processor.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "control/command/command.h"
#include "control/command/line/arguments.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/command/line/weights_argument.h"
#include "control/command/sample_mistakes.h"
#include "control/command/sample_prompts.h"
#include "control/data/prepared_set.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/run/run_data.h"
#include "control/launch/run_device.h"
#include "control/launch/weights/huggingface_model.h"
#include "control/report/standard_output.h"
#include "control/report/table.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "recipe/rules/rules.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/key_synonyms.h"
#include "text/example_template.h"
#include "text/pickled_vocabulary.h"

namespace exprun {
namespace {

const std::string kAsSample = std::string(kSampleTable) + ".type=\"sample\"";

Words offered_sample_keys(const Typed& typed) {
  RecipeText recipe = offer::named_recipe({typed.last, {typed.before[0]}, typed.store});
  recipe.overrides.push_back(kAsSample);
  return override_completions_in(kSampleTable, recipe, typed.last);
}

// Prints texts as they are written, each after its prompt.
class TextPrinter {
 public:
  explicit TextPrinter(bool interactive) : interactive_(interactive) {}

  void prompted(const std::string& shown) { prompt_ = shown; }

  void write(const std::string& piece) {
    begin();
    print_foreign(piece);
    std::cout.flush();
  }

  void end() {
    begin();
    end_line();
  }

  // Of a text that has broken off. What is said on standard error next stands below it.
  void end_line() {
    if (!std::exchange(under_way_, false)) return;
    print("\n");
    std::cout.flush();
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

// What nanoGPT has left beside tokens, which says what they stand for.
std::string advice_on_pickle(const PreparedData& data) {
  for (const std::filesystem::path& folder : folders_of(data))
    if (const auto pickle = pickled_vocabulary(folder))
      return "; " + how_to_convert_pickle(*pickle);
  return "";
}

// Throws Error where the run was trained on tokens of which nothing says what they stand for.
void require_tokenizer(const std::string& word, const ResolvedRecipe& recipe,
                       const std::optional<PreparedData>& data) {
  if (text_at(recipe.root(), "dataset.tokenizer") != "none") return;
  throw Error("sample: the data of " + word +
                  " has no tokenizer, so nothing says which text its tokens stand for; give the "
                  "tokenizer that made them: --tokenizer PATH, " +
                  kVocabularyForms + (data ? advice_on_pickle(*data) : ""),
              ExitCode::bad_recipe);
}

const std::string kInstruction = kSamplePrefix + "instruction";

// Of the dataset of a run, or of that which a folder was exported from. Throws Error where it has
// none.
PromptForm form_of_instructions(const ResolvedRecipe& recipe) {
  const Section dataset = recipe.section("dataset");
  if (dataset.get<std::string>("type") != "instruction")
    throw Error(
        "sample: --instruction needs a run with dataset.type = \"instruction\", or its export, "
        "whose template it uses; write the whole prompt with --prompt",
        ExitCode::bad_recipe);
  return {ExampleTemplate(dataset.get<std::string>("template")),
          text_at(recipe.root(), kSystem).value_or("")};
}

// Of "evaluation.sample.prompt=..." or "+evaluation.sample.prompt=...".
bool is_of(const std::string& key, const std::string& change) {
  return change.compare(sign_of(change).size(), key.size() + 1, key + '=') == 0;
}

bool is_prompt(const std::string& change) {
  return is_of(kSamplePrefix + "prompt", change);
}

bool is_system(const std::string& change) {
  return is_of(kSystem, change);
}

// A line break, which the key has by default, is not in every text: the first character then.
std::optional<std::string> usual_prompt(const DatasetInfo& facts) {
  const auto& characters = facts.characters;
  if (!characters || characters->empty() || characters->find(U'\n') != std::u32string::npos)
    return std::nullopt;
  std::string first;
  append_code_point(first, characters->front());
  return first;
}

std::string as_prompt(const std::string& text) {
  return kAsPrompt + json_text(nlohmann::json(text));
}

// What the recipe asks for in its template; nothing where it has a prompt.
std::optional<std::string> instruction_of(const ResolvedRecipe& recipe) {
  const bool has_template = text_at(recipe.root(), "dataset.type") == "instruction";
  return has_template ? text_at(recipe.root(), kInstruction) : std::nullopt;
}

// How prompts are given to the model.
struct Prompting {
  PromptForm form;
  // What the recipe asks in its template, where neither the command line nor the recipe has a
  // prompt.
  std::optional<std::string> own_instruction;
  bool has_own_prompt = false;  // the recipe's, or the usual one
};

// `asks_anew`: with --prompt or --prompts. `changes`: what was typed, of keys of the evaluation,
// in `recipe`. Throws Error.
Prompting prompting_of(const ResolvedRecipe& recipe, const Words& changes, bool asks_anew,
                       bool as_instructions) {
  Prompting prompting;
  prompting.has_own_prompt = !asks_anew && std::none_of(changes.begin(), changes.end(), is_prompt);
  if (prompting.has_own_prompt) prompting.own_instruction = instruction_of(recipe);
  const bool has_system = std::any_of(changes.begin(), changes.end(), is_system);
  if (as_instructions || prompting.own_instruction || has_system)
    prompting.form = form_of_instructions(recipe);
  if (has_system && !as_instructions && !prompting.own_instruction)
    throw Error("sample: a system message stands before an instruction; add --instruction",
                ExitCode::bad_recipe);
  return prompting;
}

// What the recipe has instead of its own prompt. `first`: of those that were asked anew.
Words changes_of_prompt(const Prompting& prompting, const ResolvedRecipe& recipe,
                        const DatasetInfo& facts, const std::string* first) {
  Words changes;
  if (!prompting.has_own_prompt && recipe.find(kInstruction)) changes.push_back('~' + kInstruction);
  if (first) {
    changes.push_back(as_prompt(prompting.form(*first, false).given));
  } else if (prompting.has_own_prompt && !prompting.own_instruction &&
             !is_written(recipe.root(), kSamplePrefix + "prompt")) {
    if (const auto usual = usual_prompt(facts)) changes.push_back(as_prompt(*usual));
  }
  return changes;
}

// Text after a '|' or a '<' is not read unasked: a script's loop may read its own list there.
bool has_waiting_input() {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0) return false;
  if (S_ISREG(status.st_mode)) return status.st_size > ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  int bytes = 0;
  return S_ISFIFO(status.st_mode) && ::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

int print_texts(const EvaluatedWeights& weights, PromptSource& source) {
  TextPrinter printer(source.is_interactive());
  if (source.is_interactive())
    log_info("type a prompt, then Enter; Ctrl-C stops a text, Ctrl-D ends");
  SampleTerminal terminal;
  terminal.is_interactive = source.is_interactive();
  struct stat status {};  // the other end of a pipe may be on the same terminal
  terminal.shows_progress =
      !::isatty(STDOUT_FILENO) && ::fstat(STDOUT_FILENO, &status) == 0 && !S_ISFIFO(status.st_mode);
  terminal.next_prompt = [&]() -> std::optional<std::string> {
    const auto prompt = source.next();
    if (!prompt) return std::nullopt;
    printer.prompted(prompt->shown);
    return prompt->given;
  };
  terminal.piece = [&](const std::string& piece) { printer.write(piece); };
  terminal.text_ended = [&](const std::string&) { printer.end(); };
  terminal.problem = [&](const std::string& why) {
    printer.end_line();
    if (!source.is_interactive()) throw Error("sample: " + weights.name + ", " + why);
    log_warning("sample: " + why);
  };
  return sample(weights, terminal);
}

// An array of objects: the prompt as the model got it, the text after it, and why it ended.
int print_texts_as_json(const EvaluatedWeights& weights, PromptSource& source) {
  ResultTable table{{{"prompt", ""}, {"text", ""}, {"end", ""}}, {}};
  std::string prompt, text;
  SampleTerminal terminal;
  terminal.next_prompt = [&]() -> std::optional<std::string> {
    const auto next = source.next();
    if (!next) return std::nullopt;
    return prompt = next->given;
  };
  terminal.piece = [&](const std::string& piece) { text += piece; };
  terminal.text_ended = [&](const std::string& why) {
    table.rows.push_back(
        {Cell::word(prompt), Cell::word(std::exchange(text, "")), Cell::word(why)});
  };
  terminal.problem = [&](const std::string& why) {
    throw Error("sample: " + weights.name + ", " + why);
  };
  const int exit_code = sample(weights, terminal);
  if (exit_code == 0) print(to_json(table));
  return exit_code;
}

bool is_bare(const std::string& word) {
  return word.find('=') == std::string::npos && sign_of(word).empty();
}

// "seed=1" of "evaluation.sample.seed=1".
std::string without_table(std::string setting) {
  const size_t sign = sign_of(setting).size();
  if (setting.compare(sign, kSamplePrefix.size(), kSamplePrefix) == 0)
    setting.erase(sign, kSamplePrefix.size());
  return setting;
}

// Text without --prompt, which a shell may have split into words.
void refuse_bare_prompt(const Words& settings) {
  const auto first = std::find_if(settings.begin(), settings.end(), is_bare);
  if (first == settings.end() ||
      !without_blanks(settings, static_cast<size_t>(first - settings.begin()), kSampleTable)
           .empty())
    return;
  std::string prompt = *first;
  for (auto next = first + 1; next != settings.end() && is_bare(*next); ++next)
    prompt += ' ' + *next;
  throw Error("sample: '" + *first + "' is not key=value; for a prompt, write --prompt " +
                  shell_quoted(prompt),
              ExitCode::bad_recipe);
}

bool computes_in_bf16() {
  return gpu_offer().is_usable() || multiplies_in("bf16", processor_flags());
}

// Changes of [precision] for `--dtype`, or for the format of a folder's weights, which are kept in
// it.
Words changes_of_precision(const std::string& word, const WeightsArgument& weights,
                           const std::string& dtype) {
  if (!dtype.empty() && dtype != "fp32" && dtype != "bf16" && dtype != "fp16")
    throw Error("sample: --dtype takes fp32, bf16 or fp16, not '" + dtype + "'",
                ExitCode::bad_recipe);
  if (weights.run()) return dtype.empty() ? Words{} : Words{"precision.compute=" + dtype};
  const bool is_bf16 =
      dtype.empty() ? dtype_of(word) == "bf16" && computes_in_bf16() : dtype == "bf16";
  if (is_bf16) return {"precision.compute=bf16", "precision.parameters=bf16"};
  return {"precision.compute=" + (dtype.empty() ? "fp32" : dtype)};
}

}  // namespace

int run_sample(const Words& words, const Globals& globals) {
  std::string word, file, dtype, step, tokenizer;
  bool instruction = false, json = false;
  Words options, settings;
  Arguments arguments(
      "sample RUN|DIR [--prompt TEXT]... [key=value...]",
      "Generates text that continues a prompt, from a run's newest checkpoint or "
      "another one. At a terminal, if no prompt is given, asks for prompts one after another.");
  arguments.word("RUN|DIR", word, kWeightsHelp, offer::runs)
      .words("key=value...", settings,
             "keys of the evaluation `sample`: tokens, temperature, top_k, top_p, stop, samples, "
             "seed, system (with --instruction), end_of_text (which defaults to \"stop\" here)",
             offered_sample_keys)
      .option("--prompt", "TEXT", options,
              "the start of the text; may be repeated (default when not at a terminal: the "
              "recipe's prompt or instruction)")
      .option("--prompts", "FILE", file,
              "read a prompt from each line of this file (-: standard input)")
      .flag("--instruction", instruction,
            "prompts are instructions: wrap each in the template that the run was trained with, "
            "after the recipe's evaluation.sample.system if it has one, and stop at the end of the "
            "response")
      .option("--step", "N|best|last", step, kStepHelp, offer::one_of({"best", "last"}))
      .option("--tokenizer", "PATH", tokenizer, kTokenizerHelp, offer::files)
      .option(
          "--dtype", "fp32|bf16|fp16", dtype,
          "compute in this format; bf16 is faster if the processor supports it "
          "(default: precision.compute of the run; for a folder, bf16 if its weights are bf16 and "
          "the processor supports it, otherwise fp32)",
          offer::one_of({"fp32", "bf16", "fp16"}))
      .flag("--json", json, "print an array of objects with prompt, text and end")
      .note(
          "With the same seed, a checkpoint generates the same text again. Another checkpoint, or "
          "an exported folder, draws different random numbers; with temperature=0, an exported "
          "folder generates the same text as its run.")
      .exit_codes(kReadsRuns)
      .example("exprun sample @last --prompt \"ROMEO:\" temperature=0.5 tokens=300",
               "300 tokens at a low temperature")
      .example("exprun sample @last --step best", "from the checkpoint with the best metric")
      .example("exprun sample @last --prompt \"Q: Why?\" 'stop=[\"\\n\"]'",
               "to the end of the line")
      .example("exprun sample assistant --instruction --prompt \"Name three colors.\"",
               "the response of a model that was trained on instructions")
      .example("exprun sample @last --prompts questions.txt --json", "for a script")
      .example("exprun sample models/gpt2", "the weights of a HuggingFace folder");
  if (!arguments.parse(words)) return 0;
  refuse_bare_prompt(settings);
  for (std::string& setting : settings) setting = without_table(std::move(setting));
  require_overrides(settings, "sample", kSampleTable);
  WeightsArgument weights("sample", word, step, tokenizer, globals);
  Words changes;
  for (const std::string& setting : settings) changes.push_back(change_in(kSampleTable, setting));
  const auto& run = weights.run();
  Words implied{kAsSample};
  if (!run)
    for (const auto& [key, value] : sampling_of(word))
      implied.push_back(kSamplePrefix + key + '=' + value);
  const ResolvedRecipe base = try_resolve(weights.recipe(implied)).recipe;
  require_tokenizer(word, base, run ? data_of_run(globals.store.run(run->folder)) : std::nullopt);
  const bool asks_anew = !options.empty() || !file.empty();
  const Prompting prompting = prompting_of(try_resolve(weights.recipe(implied, changes)).recipe,
                                           changes, asks_anew, instruction);
  std::vector<GivenPrompt> prompts = prompts_of_options(options);
  if (!file.empty())
    for (GivenPrompt& prompt : prompts_in(file)) prompts.push_back(std::move(prompt));
  const TypedSample typed{settings, std::move(prompts), prompting.form};
  refuse_unusable_prompts(typed);
  Words overrides = changes_of_precision(word, weights, dtype);
  overrides.insert(overrides.end(), implied.begin(), implied.end());
  const DatasetInfo facts = weights.facts();
  for (std::string& change :
       changes_of_prompt(prompting, base, facts, asks_anew ? &typed.prompts.front().text : nullptr))
    overrides.push_back(std::move(change));
  if (instruction || !is_written(base.root(), kSamplePrefix + "end_of_text"))
    overrides.push_back(kSamplePrefix + "end_of_text=stop");
  const RecipeText text = weights.recipe(overrides, changes);
  const WorkingDirectory there(weights.run());
  refuse_mistakes(text, facts, typed);
  if (!asks_anew && has_waiting_input())
    log_info("sample: standard input is not read; to take prompts from it, add --prompts -");
  const bool interactive = !asks_anew && !json && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
  Words texts;
  for (const GivenPrompt& prompt : typed.prompts) texts.push_back(prompt.text);
  if (!asks_anew)
    texts = {prompting.own_instruction.value_or(
        try_resolve(text).recipe.section("evaluation").table("sample").get<std::string>("prompt"))};
  PromptSource source(std::move(texts), prompting.form, interactive);
  const EvaluatedWeights located = weights.located(text);
  return json ? print_texts_as_json(located, source) : print_texts(located, source);
}

}  // namespace exprun
