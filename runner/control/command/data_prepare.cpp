// exprun data prepare RECIPE|key=value...
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>

#include "base/diagnostic.h"
#include "control/command/data.h"
#include "control/command/line/arguments.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/data/prepare.h"
#include "control/data/prepare_text.h"
#include "control/report/standard_output.h"
#include "recipe/paths.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

constexpr int64_t kMostThreads = 1024;

// What stands around [dataset] where no recipe was named: a recipe is checked as a whole.
constexpr const char* kAround =
    "[dataset]\ntype = \"text\"\n[run]\nsteps = 1\n[model]\ntype = \"gpt\"\nnum_layers = 1\n"
    "num_heads = 1\nhidden_size = 1\ncontext_length = 1\nvocab_size = 1000000000\n[batch]\n"
    "sequences = 1\n[optimizer]\ntype = \"adamw\"\nlr = 1.0\n[evaluation]\n";

constexpr const char* kNameOfAround = "exprun data prepare";

RecipeText around(const Words& overrides) {
  RecipeText text{{std::make_shared<SourceFile>(SourceFile{kNameOfAround, kAround})}, {}};
  text.type(overrides);
  return text;
}

// Nobody has written it: what is wrong there is said of the command, without a line.
RecipeError without_lines_around(const RecipeError& error) {
  Diagnostics diagnostics = error.diagnostics();
  for (SourceSpan& where : diagnostics | std::views::transform(&Diagnostic::where))
    if (where && where.file->name == kNameOfAround) where = {where.file, 0, 0, 0};
  return RecipeError(std::move(diagnostics));
}

ResolvedRecipe recipe_of(Words words) {
  if (!words.empty() && words[0].find('=') == std::string::npos) {
    const std::string recipe = words[0];
    words.erase(words.begin());
    require_overrides(words, "data prepare");
    return resolved_aloud(read_recipe(recipe, words));
  }
  require_overrides(words, "data prepare");
  for (std::string& word : words)
    if (word.find('.') > word.find('=')) word = "dataset." + word;
  return resolved_aloud(around(words));
}

Words keys_of_dataset(const Typed& typed) {
  return override_completions_in("dataset", around({}), typed.last);
}

std::string plain(const PreparedData& data) {
  std::string text;
  if (!data.train.empty())
    text = std::filesystem::path(data.train[0].path).parent_path().string() + '\n';
  return text + split_lines(data);
}

PreparedData prepared(const Words& what, PrepareOptions options, const StoreFolder& store) try {
  const ResolvedRecipe recipe = recipe_of(what);
  const Section dataset = recipe.section("dataset");
  if (!is_made_of_text(dataset.type()))
    throw dataset.error("type", "the data is already in token shards",
                        "there is nothing to prepare");
  options.libtorch = libtorch_folder();
  warn_of_sources(recipe, options.libtorch);
  return prepare_text(dataset, *recipe.find("dataset")->as<Table>(), store.data(), options);
} catch (const RecipeError& error) {
  throw without_lines_around(error);
}

}  // namespace

int run_data_prepare(const Words& words, const Globals& globals) {
  Words what;
  std::string out;
  int64_t threads = 0;
  bool json = false;
  Arguments arguments(
      "data prepare RECIPE|key=value...",
      "Turns text, JSON Lines or JSON into token shards. Running it again does nothing unless a "
      "source has changed. If it is killed, run it again to continue (not with standard input). "
      "Unfinished data is in DIR.partial, or in the store's folder, where exprun gc deletes it. "
      "Memory use does not grow with the text, but each thread holds a whole record, and a file "
      "compressed with zstd --long=N needs 2^N bytes.");
  arguments
      .words("key=value...", what, "keys of [dataset], of type \"text\" or \"instruction\"",
             offer::recipe_or(keys_of_dataset))
      .form("RECIPE", "the recipe whose data is prepared; key=value then overrides its keys")
      .option("--out", "DIR", out,
              "a new or empty folder to write to (default: a folder in the store, named after its "
              "content)",
              offer::folders)
      .number("--threads", threads, "tokenizing threads (default: all cores)")
      .flag("--json", json, "print the description of the data as JSON")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data prepare path=corpus.jsonl.zst tokenizer=gpt2 --out data/corpus",
               "GPT-2 tokens of the field \"text\"")
      .example("exprun data prepare path=a.txt separator='\"\\n\\n\"' --out data/a",
               "documents separated by blank lines")
      .example("zcat a.gz | exprun data prepare path=- validation_tokens=1000000 --out data/a",
               "from standard input");
  if (!arguments.parse(words)) return 0;
  if (what.empty())
    throw Error("data prepare: no source is given; see exprun data prepare --help",
                ExitCode::bad_recipe);
  if (threads > kMostThreads)
    throw Error("data prepare: --threads takes 1 to " + std::to_string(kMostThreads) +
                    ", or 0 for all cores",
                ExitCode::bad_recipe);
  PrepareOptions options;
  options.threads = static_cast<size_t>(threads);
  options.folder = out;
  const PreparedData data = prepared(what, std::move(options), globals.store);
  if (json)
    print(data.to_json(NotUtf8::replaced));
  else if (globals.level != LogLevel::warning)
    print(plain(data));
  return 0;
}

}  // namespace exprun
