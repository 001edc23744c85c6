#include "control/launch/prepared_launch.h"

#include "base/log.h"
#include "base/manifest.h"
#include "control/data/prepare.h"
#include "control/launch/provenance.h"
#include "recipe/quantities.h"
#include "text/data_facts.h"

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

}  // namespace

void require_at_first_sight(const LaunchRequest& request, const StoreFolder& folder) {
  const DataGlance glance = glance_at_data(request.resolved, folder.data());
  Diagnostics problems = glance.problems;
  const Diagnostics missing = evaluation_file_problems(request.resolved);
  problems.insert(problems.end(), missing.begin(), missing.end());
  const Diagnostics lacking =
      gpu_problems(request.resolved, gpu_offer(), request.joined.has_value(), Severity::error);
  problems.insert(problems.end(), lacking.begin(), lacking.end());
  if (has_errors(problems)) throw RecipeError(std::move(problems));
  resolve(request.text, glance.facts);
}

PreparedLaunch prepare_launch(const StoreFolder& folder, const LaunchRequest& request,
                              const std::optional<RunRow>& run) {
  require_at_first_sight(request, folder);
  const TrainerKind trainer =
      trainer_kind(request.resolved, gpu_offer(), request.joined.has_value());
  PreparedData data = prepare_data(request.resolved, folder.data());
  const Facts facts = facts_of(data);
  ResolvedRecipe resolved = resolve(request.text, facts);
  // Without a meaning for the dataset it is 0: the trainer refuses such a recipe.
  const int64_t steps = run_steps(resolved.root(), facts).value_or(0);
  auto checkpoint = run ? newest_intact(folder.run(run->folder)) : std::nullopt;
  return {std::move(data),
          std::move(resolved),
          steps,
          std::move(checkpoint),
          gather_provenance(request.command_line, request.joined),
          trainer};
}

}  // namespace exprun
