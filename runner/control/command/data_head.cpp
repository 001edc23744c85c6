// exprun data head PATH...
#include <vector>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "control/command/arguments.h"
#include "control/command/data.h"
#include "control/data/shard_contents.h"
#include "control/data/shard_listing.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

struct HeadOptions {
  int64_t from = 0, tokens = 256;
  bool ids = false;
};

// Throws Error.
std::string shown_tokens(const ListedShard& listed, const HeadOptions& options) {
  const TokenShard shard = recognise_shard(listed.file).shard;
  if (options.from > 0 && options.from >= shard.tokens)
    throw Error("data head: '" + listed.file.string() + "' has " +
                pluralize(shard.tokens, "token") + ", none from " + with_thousands(options.from) +
                " on");
  const auto tokens = read_tokens(shard, options.from, options.tokens);
  if (!options.ids) return to_valid_utf8(listed.tokenizer->decode(tokens)) + "\n";
  std::string text;
  for (const int64_t token : tokens) text += std::to_string(token) + "\n";
  return text;
}

// What is wrong with them is told, rather than what they would need.
void drop_damaged(ListedShards& listed) {
  std::erase_if(listed.shards, [&](const ListedShard& shard) {
    try {
      recognise_shard(shard.file);
      return false;
    } catch (const Error& error) {
      listed.problems.push_back(error.what());
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
      .number("--tokens", options.tokens, "number of tokens (default: 256)", 1)
      .number("--from", options.from, "number of the first token (default: 0)")
      .flag("--ids", options.ids, "print token ids")
      .option("--vocabulary", "PATH", vocabulary,
              "a BPE vocabulary; prepared folders include their own", offer::files)
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data head data/corpus --tokens 64", "as text")
      .example("exprun data head data/corpus --ids", "print token ids");
  if (!arguments.parse(words)) return 0;
  ListedShards listed = list_shards(paths);
  const bool several = listed.shards.size() > 1;
  if (!options.ids) find_tokenizers(listed, vocabulary);
  drop_damaged(listed);
  for (const ListedShard& shard : listed.shards)
    if (!options.ids && !shard.tokenizer && !shard.folder->names_tokenizer()) {
      tell(listed.problems);
      throw Error("data head: nothing says which tokenizer made '" + shard.file.string() +
                      "'; give --vocabulary PATH, or --ids for the numbers",
                  ExitCode::bad_recipe);
    }
  for (const ListedShard& shard : listed.shards) try {
      if (!options.ids && !shard.tokenizer) continue;  // a problem of its set
      const std::string text = shown_tokens(shard, options);
      if (several) print("==> " + in_one_line(shard.file.string()) + "\n");
      print_foreign(text);
    } catch (const Error& error) {
      listed.problems.push_back(error.what());
    }
  tell(listed.problems);
  return static_cast<int>(listed.problems.empty() ? ExitCode::done : ExitCode::failed);
}

}  // namespace exprun
