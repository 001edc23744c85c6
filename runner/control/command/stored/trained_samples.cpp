#include "control/command/stored/trained_samples.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/strings.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/data/shards/shard_contents.h"
#include "control/launch/run/present_folder.h"
#include "recipe/quantities.h"
#include "text/examples.h"
#include "text/prepared_data.h"
#include "text/sample_order.h"

namespace exprun {
namespace {

// Every change has a value at its step.
int64_t passed_over(const Store& store, const RunRow& run, int64_t step) {
  int64_t batches = 0;
  for (const SeriesRow& series : store.series(run.id)) {
    if (series.name != "passed_over_batches") continue;
    for (const MetricRow& row : store.metrics(series.id))
      if (row.step <= step) batches = static_cast<int64_t>(row.value);
  }
  return batches;
}

void require_step(const RunRow& run, int64_t step) {
  if (step > run.steps)
    throw Error("data head: " + run.folder + " has " + pluralize(run.steps, "step") + ", no step " +
                    with_thousands(step),
                ExitCode::bad_recipe);
  const int64_t before = origin_step(run.origin);
  if (step <= before)
    throw Error("data head: " + run.folder + " is a fork of " + describe_origin(run.origin) +
                    ", which has trained step " + with_thousands(step),
                ExitCode::bad_recipe);
}

// Of all shards of a split, one after another.
TrainedSample read_sample(const std::vector<TokenShard>& shards, int64_t begin, int64_t count) {
  TrainedSample sample;
  for (const TokenShard& shard : shards) {
    if (begin < shard.tokens && count > 0) {
      if (sample.place.empty())
        sample.place = "token " + with_thousands(begin) + " of " +
                       std::filesystem::path(shard.path).filename().string();
      const auto tokens = read_tokens(shard, begin, count);
      sample.tokens.insert(sample.tokens.end(), tokens.begin(), tokens.end());
      count -= static_cast<int64_t>(tokens.size());
    }
    begin = std::max<int64_t>(0, begin - shard.tokens);
  }
  return sample;
}

template <class Value>
Value known(std::optional<Value> value, const RunRow& run, const char* key) {
  if (value) return std::move(*value);
  throw Error("data head: the recipe of " + run.folder + " does not say " + key);
}

// Which samples of the run a global batch is made of.
struct SampleRange {
  int64_t first = 0, count = 0;
};

// Of sequences of tokens.
std::vector<TrainedSample> sequences_of(const PreparedData& data, const ResolvedRecipe& recipe,
                                        const RunRow& run, SampleRange range) {
  const Table& root = recipe.root();
  const SampleSpace space{token_count(data.train),
                          known(sequence_length(root), run, "batch.sequence_length"),
                          blocks_are_separate(root)};
  if (space.blocks() == 0)
    throw Error("data head: the training data of " + run.folder + " has no whole sample");
  const SampleOrder order =
      sample_order(known(text_at(root, "dataset.order"), run, "dataset.order"));
  const auto seed = recipe.section("run").get<int64_t>("seed");
  std::vector<TrainedSample> samples;
  for (int64_t index = range.first; index < range.first + range.count; ++index)
    samples.push_back(
        read_sample(data.train, sample_offset(order, space, seed, index), space.sample_tokens()));
  return samples;
}

// Of packs, example by example.
std::vector<TrainedSample> examples_of(const PreparedData& data, const ResolvedRecipe& recipe,
                                       const RunRow& run, SampleRange range) {
  const int64_t length = known(sequence_length(recipe.root()), run, "batch.sequence_length");
  const bool truncates = truncates_examples(recipe.root());
  const auto seed = recipe.section("run").get<int64_t>("seed");
  const ExampleList list(read_segment_words(data.train_segments), token_count(data.train), length,
                         truncates);
  const auto packs = packed_examples(list.examples, length, seed);
  const SampleSpace space = space_of_packs(packs.size());
  std::vector<TrainedSample> samples;
  for (int64_t index = range.first; index < range.first + range.count; ++index) {
    const int64_t pack = sample_offset(SampleOrder::shuffled_blocks, space, seed, index);
    for (const size_t place : packs.at(static_cast<size_t>(pack))) {
      const Example& example = list.examples[place];
      samples.push_back(read_sample(data.train, example.first_token, example.tokens + 1));
    }
  }
  return samples;
}

}  // namespace

TrainedBatch trained_batch(const BatchChoice& choice, const Globals& globals) {
  const Store store = open_store(globals.store);
  const RunRow run = find_run_for_folder(store, globals.store, choice.run);
  require_run_folder(globals.store, run, "data head");
  if (choice.step) require_step(run, *choice.step);
  const ResolvedRecipe recipe =
      resolve_stored(latest_recipe(store, globals.store, run), "data head", choice.run);
  const auto data = PreparedData::load(globals.store.run(run.folder).data());
  const int64_t sequences = known(batch_sequences(recipe.root()), run, "batch.sequences");
  const bool stays = recipe.section("run").get<bool>("overfit_single_batch");
  const int64_t batch =
      choice.batch ? *choice.batch - 1 : *choice.step - 1 + passed_over(store, run, *choice.step);

  TrainedBatch found;
  found.run = run.folder;
  if (!data.tokenizer.is_null()) found.tokenizer = load_tokenizer(data.tokenizer);
  const SampleRange range{stays ? 0 : batch * sequences, sequences};
  found.samples = data.train_segments.empty() ? sequences_of(data, recipe, run, range)
                                              : examples_of(data, recipe, run, range);
  return found;
}

}  // namespace exprun
