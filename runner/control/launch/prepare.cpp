#include "control/launch/prepare.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/manifest.h"
#include "control/data/prepare.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

int64_t tokens_in(const std::vector<TokenShard>& shards) {
  int64_t tokens = 0;
  for (const TokenShard& shard : shards) tokens += shard.tokens;
  return tokens;
}

// 0 if the length has no meaning for the dataset: the trainer refuses such a recipe.
int64_t steps_of(const ResolvedRecipe& resolved, Facts facts) {
  // An epoch is made of whole samples, the last of which has one token more than its inputs.
  const auto inputs = sequence_length(resolved.root()).value_or(1);
  facts.train_tokens = (*facts.train_tokens - 1) / inputs * inputs;
  const auto length = run_length(resolved.root());
  const auto steps = length ? in_steps(resolved.root(), facts, *length) : std::nullopt;
  return steps ? std::max<int64_t>(1, std::llround(*steps)) : 0;
}

// The newest checkpoint whose every byte is as its manifest says.
std::optional<CheckpointFolder> newest_intact(const RunFolder& folder) {
  std::vector<std::string> skipped;
  const auto complete = complete_checkpoints(folder, &skipped);
  for (const std::string& reason : skipped) log_warning("checkpoint passed over: " + reason);
  for (const CheckpointFolder& checkpoint : complete) {
    const auto problem = manifest_problem(checkpoint.path, Verify::hashes);
    if (!problem) return checkpoint;
    log_warning("checkpoint passed over: " + checkpoint.path.filename().string() + ": " + *problem);
  }
  return std::nullopt;
}

}  // namespace

Facts facts_of(const PreparedData& data) {
  return {data.vocab_size, tokens_in(data.train), tokens_in(data.validation)};
}

PreparedLaunch prepare_launch(const StoreFolder& folder, const LaunchRequest& request,
                              const std::optional<RunRow>& run) {
  PreparedData data = prepare_data(request.resolved, folder.data());
  const Facts facts = facts_of(data);
  ResolvedRecipe resolved = resolve(request.text, facts);
  const int64_t steps = steps_of(resolved, facts);
  auto checkpoint = run ? newest_intact(folder.run(run->folder)) : std::nullopt;
  return {std::move(data), std::move(resolved), steps, std::move(checkpoint)};
}

}  // namespace exprun
