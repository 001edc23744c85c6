// exprun data prepare RECIPE|key=value...
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/number.h"
#include "control/command/arguments.h"
#include "control/command/data.h"
#include "control/command/recipe_words.h"
#include "control/data/prepare.h"
#include "control/data/prepare_text.h"
#include "control/report/terminal.h"
#include "recipe/libtorch_folder.h"

namespace exprun {
namespace {

// What stands around [dataset] where no recipe was named: a recipe is checked as a whole.
constexpr const char* kAround =
    "[dataset]\ntype = \"text\"\n[run]\nsteps = 1\n[model]\ntype = \"gpt\"\nnum_layers = 1\n"
    "num_heads = 1\nhidden_size = 1\ncontext_length = 1\nvocab_size = 1000000000\n[batch]\n"
    "sequences = 1\n[optimizer]\ntype = \"adamw\"\nlr = 1.0\n[evaluation]\n";

ResolvedRecipe recipe_of(Words words) {
  if (!words.empty() && words[0].find('=') == std::string::npos) {
    const std::string recipe = words[0];
    words.erase(words.begin());
    require_overrides(words, "data prepare");
    return resolve(read_recipe(recipe, words));
  }
  require_overrides(words, "data prepare");
  for (std::string& word : words)
    if (word.find('.') > word.find('=')) word = "dataset." + word;
  return resolve(
      {{std::make_shared<SourceFile>(SourceFile{"exprun data prepare", kAround})}, words});
}

std::string line_of(const char* split, const std::vector<TokenShard>& shards) {
  return std::string(split) + with_thousands(token_count(shards)) + " tokens in " +
         std::to_string(shards.size()) + (shards.size() == 1 ? " shard\n" : " shards\n");
}

std::string plain(const PreparedData& data) {
  std::string text;
  if (!data.train.empty())
    text = std::filesystem::path(data.train[0].path).parent_path().string() + '\n';
  return text + line_of("  train       ", data.train) + line_of("  validation  ", data.validation);
}

}  // namespace

int run_data_prepare(const Words& words, const Globals& globals) {
  Words what;
  std::string out;
  int64_t threads = 0;
  bool json = false;
  Arguments arguments(
      "data prepare RECIPE|key=value...",
      "Turns text, JSON Lines or JSON into token shards. A second call does nothing "
      "unless a source has changed; a call that was killed goes on.");
  arguments.words("key=value...", what, "the keys of [dataset] with type = \"text\"")
      .form("RECIPE", "the data of a recipe, and changes of it")
      .option("--out", "FOLDER", out, "where to (default: below the store, by content)")
      .number("--threads", threads, "how many tokenize (default: all cores)")
      .flag("--json", json, "the data's description, for a script")
      .example("exprun data prepare path=corpus.jsonl.zst tokenizer=gpt2 --out data/corpus",
               "GPT-2 tokens of the field \"text\"")
      .example("zcat a.gz | exprun data prepare path=- validation_tokens=1000000 --out data/a",
               "from standard input");
  if (!arguments.parse(words)) return 0;
  if (what.empty())
    throw Error("data prepare: no source was named; see exprun data prepare --help",
                ExitCode::bad_recipe);
  const ResolvedRecipe recipe = recipe_of(what);
  const Section dataset = recipe.section("dataset");
  if (dataset.type() != "text")
    throw dataset.error("type", "these data are token shards already", "nothing is to be prepared");
  PrepareOptions options;
  options.libtorch = libtorch_folder();
  options.threads = static_cast<size_t>(std::max<int64_t>(0, threads));
  options.folder = out;
  const PreparedData data =
      prepare_text(dataset, *recipe.find("dataset")->as<Table>(), globals.store.data(), options);
  print(json ? data.to_json() : plain(data));
  return 0;
}

}  // namespace exprun
