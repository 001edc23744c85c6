#include "control/launch/prepared_launch.h"

#include <vector>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/terminal/console.h"
#include "control/data/evaluation_files.h"
#include "control/data/prepare.h"
#include "control/launch/component_refusals.h"
#include "control/launch/machine_problems.h"
#include "control/launch/provenance.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/run/run_data.h"
#include "control/launch/trainer_program.h"
#include "control/launch/weights/checkpoint_choice.h"
#include "control/launch/weights/initial_weights.h"
#include "control/launch/weights/weights_meaning.h"
#include "recipe/paths.h"
#include "recipe/quantities.h"
#include "text/prepared_data.h"

namespace exprun {

namespace fs = std::filesystem;

namespace {

// Those that only the data tell: the others were shown when the recipe was read.
void show_new_warnings(const ResolvedRecipe& with_data, const LaunchRequest& request,
                       const DatasetInfo& dataset_info) {
  if (request.trial) return;
  Diagnostics more = not_told(with_data.warnings(), request.resolved.warnings());
  for (Diagnostic& warning : long_evaluations_of_files(with_data, dataset_info))
    more.push_back(std::move(warning));
  if (!more.empty()) show_diagnostics(more);
}

// Those that a new run begins with; empty where there are none. A sweep has said of its trials,
// before the first begins, what is to be said.
fs::path first_weights(const ResolvedRecipe& resolved, const LaunchRequest& request) {
  if (request.origin) return request.origin->checkpoint.path;
  if (request.trial || !resolved.find("model.init_from")) return {};
  return expand_path(resolved.section("model").get<std::string>("init_from"), libtorch_folder());
}

// Of those of a run whose text was edited since, that it was.
void require_fitting_weights(const fs::path& weights, const RecipeText& text,
                             const PreparedData& data, const DatasetInfo& dataset_info) {
  Diagnostics misfits = problems_of_weights(text, dataset_info);
  if (misfits.empty()) return;
  const auto checkpoint = checkpoint_at(weights);
  const std::string sources = checkpoint ? changed_sources(data, checkpoint->run) : "";
  if (!sources.empty()) misfits.front().message += "\n  " + sources + " they were trained";
  throw RecipeError(std::move(misfits));
}

// The run that goes on, or that a new one is made from, unless its keys of [dataset] are others.
std::optional<RunRow> run_with_these_data(const LaunchRequest& request, const StoreFolder& folder,
                                          const std::optional<RunRow>& run) {
  if (run) return run;
  const auto source = request.source();
  const auto before = source ? recipe_of_run(folder.run(source->folder)) : std::nullopt;
  if (!before || differ_below("dataset.", *before, request.resolved)) return std::nullopt;
  return source;
}

}  // namespace

DataGlance glance_at_files(const Resolution& resolution, const StoreFolder& folder,
                           DatasetGlances& glances) {
  DataGlance glance;
  const auto add = [&](const Diagnostics& more) {
    glance.problems.insert(glance.problems.end(), more.begin(), more.end());
  };
  if (resolution.is_valid("dataset"))
    glance = glances.of(resolution.recipe);
  else
    add(missing_sources(resolution.recipe));
  if (resolution.is_valid("evaluation"))
    add(resolution.is_valid("dataset") ? glances.evaluation_problems_of(resolution.recipe)
                                       : evaluation_file_problems(resolution.recipe, {}));
  if (resolution.is_valid("model")) add(initial_weights_problems(resolution.recipe, folder));
  return glance;
}

DataGlance require_at_first_sight(const LaunchRequest& request, const StoreFolder& folder,
                                  const std::optional<RunRow>& run) {
  DataGlance glance = glance_at_data(request.resolved, folder.data());
  const auto before = run_with_these_data(request, folder, run);
  const auto is_as_before = [&] { return glance.prepared_fingerprint == before->data_fingerprint; };
  if (before && (has_errors(glance.problems) || !is_as_before()))
    if (auto data = recorded_data(*before, folder.run(before->folder),
                                  run ? NewSources::are_left_out : NewSources::are_read,
                                  [&] { return source_files(request.resolved); }))
      glance = {{}, facts_of(*data), std::move(data), before->data_fingerprint};
  if (run) glance.dataset_info.least_vocab_size.reset();  // what it has trained on fits
  Diagnostics problems = glance.problems;
  const auto add = [&](const Diagnostics& more) {
    problems.insert(problems.end(), more.begin(), more.end());
  };
  add(evaluation_file_problems(request.resolved, glance.dataset_info));
  if (!run && !request.origin) add(initial_weights_problems(request.resolved, folder));
  // The ranks of an external launcher may have another machine.
  for (const Diagnostic& lack : request.ranks ? gpu_problems(request.resolved, gpu_offer(), true)
                                              : machine_problems(request.resolved))
    if (lack.severity == Severity::error) problems.push_back(lack);
  for (const Diagnostic& mistake : try_resolve(request.text, glance.dataset_info).diagnostics)
    if (mistake.severity == Severity::error) problems.push_back(mistake);
  if (has_errors(problems)) throw RecipeError(std::move(problems));
  if (!run && !request.trial && may_be_refused(request.resolved)) {
    Diagnostics refusals = component_refusals(request.text, glance.dataset_info);
    if (!refusals.empty()) throw RecipeError(std::move(refusals));
  }
  return glance;
}

PreparedLaunch prepare_launch(const Store& store, const StoreFolder& folder,
                              const LaunchRequest& request, const std::optional<RunRow>& run) {
  if (run) require_run_folder(folder, *run, "launch", how_to_start_anew(request, *run, folder));
  DataGlance glance = require_at_first_sight(request, folder, run);
  const TrainerKind trainer =
      trainer_kind(request.resolved, gpu_offer(), request.ranks.has_value());
  if (glance.prepared) warn_of_sources(glance.problems);
  PreparedData data =
      glance.prepared ? std::move(*glance.prepared) : prepare_data(request.resolved, folder.data());
  const DatasetInfo dataset_info = facts_of(data);
  ResolvedRecipe resolved = resolve(request.text, dataset_info);
  if (!run) show_new_warnings(resolved, request, dataset_info);
  // Without a meaning for the dataset it is 0: the trainer refuses such a recipe.
  const int64_t steps = run_steps(resolved.root(), dataset_info).value_or(0);
  if (request.origin && !run) require_usable(request, folder, resolved, steps, data, dataset_info);
  if (const auto weights = run ? fs::path() : first_weights(resolved, request); !weights.empty()) {
    if (request.origin)
      warn_of_other_characters(weights, data);
    else
      require_fitting_weights(weights, request.text, data, dataset_info);
    if (const auto warnings = other_model(weights, resolved); !warnings.empty())
      show_diagnostics(warnings);
  }
  auto checkpoint = run ? checkpoint_to_continue_from(store, folder, *run) : std::nullopt;
  return {std::move(data),
          std::move(resolved),
          steps,
          std::move(checkpoint),
          gather_provenance(request.command_line, folder.path, request.ranks),
          trainer};
}

WorkingDirectory::WorkingDirectory(const std::optional<RunRow>& run) {
  std::error_code error;
  former_ = fs::current_path(error);
  if (!run || run->working_directory == former_) return;
  fs::current_path(run->working_directory, error);
  if (error)
    log_warning(run->folder + " was started in " + run->working_directory +
                ", which cannot be entered (" + error.message() +
                "); paths of its recipe are read from here");
}

WorkingDirectory::~WorkingDirectory() {
  std::error_code ignored;
  fs::current_path(former_, ignored);
}

}  // namespace exprun
