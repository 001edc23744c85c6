#include "control/launch/run/forked_run.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "control/launch/launch.h"
#include "control/launch/run/run_data.h"
#include "control/launch/trainer_program.h"
#include "recipe/quantities.h"
#include "recipe/sweep/sweep_space.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMostShown = 4;

void add(std::string& text, const std::vector<std::string>& lines) {
  for (size_t i = 0; i < std::min(lines.size(), kMostShown); ++i) text += "\n  " + lines[i];
  if (lines.size() > kMostShown)
    text += "\n  and " + std::to_string(lines.size() - kMostShown) + " more";
}

// Those of what decides which tensors there are; the length of the run is no reason.
std::string changes_between(const ResolvedRecipe& before, const ResolvedRecipe& now) {
  std::vector<std::string> lines;
  for (const Difference& difference : differences(before, now))
    if (!difference.path.starts_with("run.")) lines.push_back(change_text(difference));
  std::string text;
  add(text, lines);
  return text;
}

// What has been evaluated at this step is that of other evaluations then.
bool measures_otherwise(const ForkOrigin& origin, const ResolvedRecipe& now,
                        const std::string& data_fingerprint) {
  if (origin.run.data_fingerprint != data_fingerprint) return true;
  const auto changes = differences(origin.recipe, now);
  return std::any_of(changes.begin(), changes.end(), [](const Difference& difference) {
    return difference.path.starts_with("evaluation.") || difference.path == "metrics.val_loss";
  });
}

// The same model, of more tokens than the run's data had. Not where these are not known any more.
bool only_adds_tokens(const ForkOrigin& origin, const ResolvedRecipe& now,
                      const DatasetInfo& dataset_info) {
  if (differ_below("model.", origin.recipe, now)) return false;
  const auto before = data_of_run(origin.folder);
  return before && dataset_info.vocab_size > before->vocab_size;
}

bool only_lacks_tokens(const ForkOrigin& origin, const ResolvedRecipe& now,
                       const DatasetInfo& dataset_info) {
  if (differ_below("model.", origin.recipe, now)) return false;
  const auto before = data_of_run(origin.folder);
  return before && dataset_info.vocab_size && dataset_info.vocab_size < before->vocab_size;
}

// The offer of one that begins with `what`.
std::string new_run(const ForkOrigin& origin, const std::string& what, const std::string& key) {
  return "; for a new run that begins with " + what +
         ", add model.init_from=" + shell_quoted(origin.run.folder) + " model." + key +
         "=true to the command that runs the recipe";
}

// The weights that fit are those before its training.
bool loses_adapter(const ForkOrigin& origin, const ResolvedRecipe& now) {
  constexpr const char* kRank = "model.lora.rank";
  return origin.recipe.find(kRank) != nullptr && now.find(kRank) == nullptr;
}

std::string run_with_merged_adapter(const ForkOrigin& origin) {
  return "; for a new run, " +
         advice_to_merge_adapter(shell_quoted(origin.run.folder) + " --step " +
                                 std::to_string(origin.checkpoint.step));
}

// What the new run's recipe changes in that of its origin, each key once.
std::vector<std::string> own_changes(const ForkOrigin& origin, const ResolvedRecipe& now) {
  const auto& before = origin.recipe.overrides();
  const auto& all = now.overrides();
  std::vector<std::string> changes;
  for (auto each = std::ranges::mismatch(all, before).in1; each != all.end(); ++each) {
    std::erase_if(changes,
                  [&](const std::string& change) { return key_of(change) == key_of(*each); });
    changes.push_back(*each);
  }
  return changes;
}

// How the new run can take only the weights: that is an option of exprun fork, by which the run
// that is repeated, if one is, was made.
std::string with_fresh_optimizer(const LaunchRequest& request, const StoreFolder& folder,
                                 const ResolvedRecipe& resolved) {
  if (!request.repeated)
    return "add --fresh-optimizer to take only the weights and start with a fresh optimizer state";
  const ForkOrigin& origin = *request.origin;
  std::string command = "exprun fork " + shell_quoted(origin.run.folder) + " --step " +
                        std::to_string(origin.checkpoint.step) + " --fresh-optimizer";
  for (const std::string& change : own_changes(origin, resolved))
    command += ' ' + shell_quoted(change);
  return '`' + command + store_option(folder) +
         "` takes only the weights and starts with a fresh optimizer state";
}

json state_of_fork(const ForkOrigin& origin, const ResolvedRecipe& now,
                   const std::string& data_fingerprint) {
  json state = parse_json<json>(read_file(origin.checkpoint.path / kStateFile));
  state["recipe_hash"] = now.hash();
  state["data_fingerprint"] = data_fingerprint;
  if (const auto* threads = now.find("run.threads")->as<int64_t>()) state["threads"] = *threads;
  if (origin.fresh_optimizer) state["optimizer_start"] = origin.checkpoint.step;
  // The checkpoint that its origin would go back to is not in its folder, and what is allowed in a
  // row is allowed to a run.
  if (const auto divergence = state.find("divergence"); divergence != state.end())
    divergence->update({{"rollback_step", nullptr}, {"rollbacks", 0}, {"skipped_in_row", 0}});
  // The best of a run is one of its own values, and its checkpoint lies in its own folder.
  state.update({{"best", nullptr}, {"improved_to", nullptr}, {"without_improvement", 0}});
  if (measures_otherwise(origin, now, data_fingerprint)) state["evaluated"] = json::array();
  return state;
}

void link_or_copy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (error) fs::copy_file(from, to, error);
  if (error)
    throw Error("fork: cannot copy '" + from.string() + "' to '" + to.string() +
                "': " + error.message());
}

}  // namespace

std::string to_json(const ForkOrigin& origin) {
  return json_text(nlohmann::ordered_json{{"run", origin.run.uid},
                                          {"folder", origin.run.folder},
                                          {"step", origin.checkpoint.step},
                                          {"recipe_hash", origin.run.recipe_hash},
                                          {"fresh_optimizer", origin.fresh_optimizer}});
}

void refuse_other_weights(const std::string& command, const ResolvedRecipe& before,
                          const ResolvedRecipe& now, const std::string& instead) {
  constexpr const char* kKey = "model.init_from";
  const auto wanted = text_at(now.root(), kKey);
  if (wanted == text_at(before.root(), kKey)) return;
  throw Error(command +
                  ": a fork begins with the weights of its checkpoint, so model.init_from has no "
                  "effect; " +
                  (instead.empty() ? "leave it as it is"
                                   : "to train from other weights, write `" + instead + '`'),
              ExitCode::bad_recipe);
}

void require_usable(const LaunchRequest& request, const StoreFolder& folder,
                    const ResolvedRecipe& resolved, int64_t steps, const PreparedData& data,
                    const DatasetInfo& dataset_info) {
  const ForkOrigin& origin = *request.origin;
  const std::string command = request.repeated ? "rerun: " : "fork: ";
  const int64_t step = origin.checkpoint.step;
  const std::string too_short =
      steps > step ? ""
                   : "nothing is left to train: the checkpoint is of step " + with_thousands(step) +
                         ", and the run has " + pluralize(steps, "step") +
                         "; add run.steps=" + std::to_string(2 * step);
  const auto differences =
      compare_with_checkpoint(request.text, origin.checkpoint.path, dataset_info);
  const auto of_model = differences.at("model").get<std::vector<std::string>>();
  const auto of_optimizer = differences.at("optimizer").get<std::vector<std::string>>();
  const std::string changes = changes_between(origin.recipe, resolved);
  const std::string of_data = data_difference(data, origin.run, origin.folder,
                                              differ_below("dataset.", origin.recipe, resolved));
  const bool is_of_data = changes.empty() && !of_data.empty();
  std::string said = command + "the checkpoint of step " + with_thousands(step) + " of " +
                     origin.run.folder + " does not fit the changed " +
                     (is_of_data ? "data:" : "recipe:") + changes;
  if (!of_data.empty()) said += "\n  data: " + of_data;
  if (!of_model.empty()) {
    said += "\nparameters:";
    add(said, of_model);
    const bool fits_in_part = !differences.at("has_other_shapes").get<bool>();
    const std::string remedy =
        fits_in_part && loses_adapter(origin, resolved) ? run_with_merged_adapter(origin)
        : fits_in_part ? new_run(origin, "the weights that fit", "init_partial")
        : only_adds_tokens(origin, resolved, dataset_info)
            ? new_run(origin, "all weights and adds rows for the new tokens",
                      "init_resize_vocabulary")
        : only_lacks_tokens(origin, resolved, dataset_info)
            ? new_run(origin, "the weights of the tokens that the data has",
                      "init_resize_vocabulary")
            : "";
    const std::string keeps =
        request.repeated ? request.repeated->folder + " is a fork, which keeps" : "a fork keeps";
    throw Error(said + '\n' + keeps + " the model" + remedy, ExitCode::bad_recipe);
  }
  if (of_optimizer.empty() || origin.fresh_optimizer) {
    if (too_short.empty()) return;
    throw Error(command + too_short, ExitCode::bad_recipe);
  }
  said += "\noptimizer state:";
  add(said, of_optimizer);
  said += '\n' + with_fresh_optimizer(request, folder, resolved);
  if (!too_short.empty()) said += "\n" + too_short;
  throw Error(said, ExitCode::bad_recipe);
}

// The average of weights that are trained, begun anew with the optimizer's state.
bool keeps_average(const ForkOrigin& origin, const ResolvedRecipe& resolved) {
  const Value* const ema = resolved.find("run.ema");
  const auto* const decay = ema ? ema->as<double>() : nullptr;
  return !origin.fresh_optimizer && decay && *decay > 0;
}

CheckpointFolder copy_checkpoint(const ForkOrigin& origin, const RunFolder& to,
                                 const ResolvedRecipe& resolved,
                                 const std::string& data_fingerprint) {
  const fs::path target = to.checkpoints() / checkpoint_name(origin.checkpoint.step);
  fs::create_directories(to.checkpoints());
  AtomicFolder folder(target);
  for (const auto& entry : fs::directory_iterator(origin.checkpoint.path)) {
    const std::string name = entry.path().filename().string();
    if (name == kManifestName || name == kStateFile) continue;
    if (name == kOptimizerFile && origin.fresh_optimizer) continue;
    if (name == kAverageFile && !keeps_average(origin, resolved)) continue;
    link_or_copy(entry.path(), folder.path() / name);
  }
  write_file_atomically(folder.path() / kStateFile,
                        json_text(state_of_fork(origin, resolved, data_fingerprint), 1) + "\n");
  folder.commit();
  return {target, origin.checkpoint.step};
}

}  // namespace exprun
