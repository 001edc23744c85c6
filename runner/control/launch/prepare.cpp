#include "control/launch/prepare.h"

#include "base/log.h"
#include "base/manifest.h"
#include "base/utf8.h"
#include "control/data/prepare.h"
#include "control/launch/provenance.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

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

// Of a character tokenizer, whose table they are.
std::optional<std::u32string> characters_of(const nlohmann::json& tokenizer) {
  if (!tokenizer.is_object() || tokenizer.value("type", "") != "char") return std::nullopt;
  std::u32string characters;
  for (const nlohmann::json& character : tokenizer.at("table"))
    characters += first_code_point(character.get_ref<const std::string&>()).value;
  return characters;
}

}  // namespace

Facts facts_of(const PreparedData& data) {
  return {data.vocab_size, token_count(data.train), token_count(data.validation),
          characters_of(data.tokenizer)};
}

PreparedLaunch prepare_launch(const StoreFolder& folder, const LaunchRequest& request,
                              const std::optional<RunRow>& run) {
  PreparedData data = prepare_data(request.resolved, folder.data());
  const Facts facts = facts_of(data);
  ResolvedRecipe resolved = resolve(request.text, facts);
  // Without a meaning for the dataset it is 0: the trainer refuses such a recipe.
  const int64_t steps = run_steps(resolved.root(), facts).value_or(0);
  auto checkpoint = run ? newest_intact(folder.run(run->folder)) : std::nullopt;
  return {std::move(data), std::move(resolved), steps, std::move(checkpoint),
          gather_provenance(request.command_line)};
}

}  // namespace exprun
