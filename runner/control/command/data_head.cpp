// exprun data head PATH...|--run RUN --step N
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "control/command/data.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/trained_samples.h"
#include "control/data/shards/shard_contents.h"
#include "control/data/shards/shard_listing.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

struct HeadOptions {
  int64_t from = 0;
  std::optional<int64_t> tokens;
  bool ids = false;
  std::string tokenizer;
};

constexpr int64_t kUsualTokens = 256;  // of a shard; of a sample all

std::string text_of(const std::vector<int64_t>& tokens, const Tokenizer* tokenizer) {
  if (tokenizer) return to_valid_utf8(tokenizer->decode(tokens)) + "\n";
  std::string text;
  for (const int64_t token : tokens) text += std::to_string(token) + "\n";
  return text;
}

// Throws Error.
std::string shown_tokens(const ListedShard& listed, const HeadOptions& options) {
  const TokenShard shard = recognise_shard(listed.file).shard;
  if (options.from > 0 && options.from >= shard.tokens)
    throw Error("data head: '" + listed.file.string() + "' has " +
                pluralize(shard.tokens, "token") + ", none from " + with_thousands(options.from) +
                " on");
  const auto tokens = read_tokens(shard, options.from, options.tokens.value_or(kUsualTokens));
  return text_of(tokens, options.ids ? nullptr : listed.tokenizer.get());
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

int print_shards(const Words& paths, const HeadOptions& options) {
  ListedShards listed = list_shards(paths);
  const bool several = listed.shards.size() > 1;
  if (!options.ids) find_tokenizers(listed, options.tokenizer);
  drop_damaged(listed);
  for (const ListedShard& shard : listed.shards)
    if (!options.ids && !shard.tokenizer && !shard.folder->names_tokenizer()) {
      tell(listed.problems);
      throw Error("data head: nothing says which tokenizer made '" + shard.file.string() +
                      "'; give --tokenizer PATH, or --ids for the numbers",
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

std::vector<int64_t> part_of(const std::vector<int64_t>& tokens, const HeadOptions& options) {
  const auto size = static_cast<int64_t>(tokens.size());
  const int64_t begin = std::min(options.from, size);
  const int64_t count = std::min(options.tokens.value_or(size), size - begin);
  return {tokens.begin() + begin, tokens.begin() + begin + count};
}

int print_samples(const BatchChoice& choice, const HeadOptions& options, const Globals& globals) {
  TrainedBatch batch = trained_batch(choice, globals);
  if (!options.tokenizer.empty()) batch.tokenizer = load_vocabulary(options.tokenizer);
  if (!options.ids && !batch.tokenizer)
    throw Error("data head: nothing says which tokenizer made the data of " + batch.run +
                    "; give --tokenizer PATH, or --ids for the numbers",
                ExitCode::bad_recipe);
  for (size_t i = 0; i < batch.samples.size(); ++i) {
    const TrainedSample& sample = batch.samples[i];
    print("==> sample " + std::to_string(i + 1) + " of " + std::to_string(batch.samples.size()) +
          ": " + in_one_line(sample.place) + "\n");
    print_foreign(
        text_of(part_of(sample.tokens, options), options.ids ? nullptr : batch.tokenizer.get()));
  }
  return 0;
}

// Throws Error (wrong usage).
void require_one_source(const Words& paths, const BatchChoice& choice) {
  const bool chooses = choice.step || choice.batch;
  const char* problem = nullptr;
  if (paths.empty() && choice.run.empty())
    problem = chooses ? "--step and --batch need --run RUN"
                      : "name shards or folders of them, or a run with --run RUN --step N";
  else if (!paths.empty() && (chooses || !choice.run.empty()))
    problem = "takes either PATH... or --run RUN, not both";
  else if (!choice.run.empty() && choice.step.has_value() == choice.batch.has_value())
    problem = "--run needs one of --step N and --batch N";
  else if (std::count(paths.begin(), paths.end(), "") > 0)
    problem = "PATH is empty";
  if (problem) throw Error(std::string("data head: ") + problem, ExitCode::bad_recipe);
}

}  // namespace

int run_data_head(const Words& words, const Globals& globals) {
  Words paths;
  BatchChoice choice;
  HeadOptions options;
  Arguments arguments("data head PATH...|--run RUN --step N",
                      "Prints the first tokens of a shard as text, or the samples that a step of a "
                      "run trains on.");
  arguments.words("PATH...", paths, "shards, or folders of them", offer::files)
      .option("--run", "RUN", choice.run, "print samples of this run", offer::runs)
      .number("--step", choice.step, "the samples of this step, counted from 1", 1)
      .number(
          "--batch", choice.batch,
          "the samples of this global batch, counted from 1; after a rollback, batch numbers run "
          "ahead of step numbers",
          1)
      .number("--tokens", options.tokens,
              "number of tokens (default: 256 of a shard, all of a sample)", 1)
      .number("--from", options.from, "index of the first token (default: 0)")
      .flag("--ids", options.ids, "print token ids")
      .option("--tokenizer", "PATH", options.tokenizer,
              kVocabularyForms + std::string("; prepared folders include their own"), offer::files)
      .exit_codes(kReadsRuns)
      .example("exprun data head data/corpus --tokens 64", "as text")
      .example("exprun data head data/corpus --ids", "as token ids")
      .example("exprun data head --run @last --step 1", "what the first update trained on");
  if (!arguments.parse(words)) return 0;
  require_one_source(paths, choice);
  return paths.empty() ? print_samples(choice, options, globals) : print_shards(paths, options);
}

}  // namespace exprun
