// exprun data head PATH...
#include <vector>

#include "base/counted.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "base/number.h"
#include "base/utf8.h"
#include "control/command/arguments.h"
#include "control/command/data.h"
#include "control/data/looked_shards.h"
#include "control/data/shard_contents.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

struct HeadOptions {
  int64_t from = 0, tokens = 256;
  bool ids = false;
};

// Throws Error.
std::string shown_tokens(const LookedShard& looked, const HeadOptions& options) {
  const TokenShard shard = recognise_shard(looked.file).shard;
  if (options.from > 0 && options.from >= shard.tokens)
    throw Error("data head: '" + looked.file.string() + "' has " + counted(shard.tokens, "token") +
                ", none from " + with_thousands(options.from) + " on");
  const auto tokens = read_tokens(shard, options.from, options.tokens);
  if (!options.ids) return to_valid_utf8(looked.tokenizer->decode(tokens)) + "\n";
  std::string text;
  for (const int64_t token : tokens) text += std::to_string(token) + "\n";
  return text;
}

// What is wrong with them is told, rather than what they would need.
void drop_damaged(LookedShards& looked) {
  std::erase_if(looked.shards, [&](const LookedShard& shard) {
    try {
      recognise_shard(shard.file);
      return false;
    } catch (const Error& error) {
      looked.problems.push_back(error.what());
      return true;
    }
  });
}

void tell(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) log(LogLevel::error, problem);
}

}  // namespace

int run_data_head(const Words& words, const Globals&) {
  Words paths;
  std::string vocabulary;
  HeadOptions options;
  Arguments arguments("data head PATH...", "Prints the first tokens of a shard as text.");
  arguments.needed_words("PATH...", paths, "shards, or folders of them", offer::files)
      .number("--tokens", options.tokens, "how many (256)", 1)
      .number("--from", options.from, "the first of them (0)")
      .flag("--ids", options.ids, "as numbers")
      .option("--vocabulary", "PATH", vocabulary, "of a BPE; prepared folders bring their own",
              offer::files)
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data head data/corpus --tokens 64", "as text")
      .example("exprun data head data/corpus --ids", "as numbers");
  if (!arguments.parse(words)) return 0;
  LookedShards looked = look_at_shards(paths);
  const bool several = looked.shards.size() > 1;
  if (!options.ids) find_tokenizers(looked, vocabulary);
  drop_damaged(looked);
  for (const LookedShard& shard : looked.shards)
    if (!options.ids && !shard.tokenizer && !shard.folder->names_tokenizer()) {
      tell(looked.problems);
      throw Error("data head: nothing says which tokenizer made '" + shard.file.string() +
                      "'; give --vocabulary PATH, or --ids for the numbers",
                  ExitCode::bad_recipe);
    }
  for (const LookedShard& shard : looked.shards) try {
      if (!options.ids && !shard.tokenizer) continue;  // a problem of its set
      const std::string text = shown_tokens(shard, options);
      if (several) print("==> " + in_one_line(shard.file.string()) + "\n");
      print_foreign(text);
    } catch (const Error& error) {
      looked.problems.push_back(error.what());
    }
  tell(looked.problems);
  return static_cast<int>(looked.problems.empty() ? ExitCode::done : ExitCode::failed);
}

}  // namespace exprun
