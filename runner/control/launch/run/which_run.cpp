#include "control/launch/run/which_run.h"

#include <algorithm>
#include <utility>

#include "control/data/prepare.h"
#include "control/launch/launch.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/run/run_data.h"

namespace exprun {
namespace {

// A rank, a device or the data was not there: nothing is lost by another attempt.
bool failed_before_it_trained(const RunRow& run) {
  return run.state == RunState::failed && run.last_step == run.from_step;
}

Decision decision_for(const RunRow& run) {
  if (failed_before_it_trained(run)) return Decision::continue_run;
  switch (run.state) {
    case RunState::running:
      return Decision::refuse_running;
    case RunState::finished:
      return Decision::show_result;
    case RunState::interrupted:
    case RunState::preempted:
    case RunState::killed:
    case RunState::crashed:
      return Decision::continue_run;
    case RunState::failed:
    case RunState::diverged:
    case RunState::pruned:
      break;
  }
  return Decision::refuse_ended;
}

std::string name_of(const LaunchRequest& request) {
  return request.resolved.section("run").get<std::string>("name");
}

using Fingerprint = std::optional<std::string>;

// Those with the origin of what is to be launched.
std::vector<RunRow> reconciled_runs(Store& store, const StoreFolder& folder,
                                    std::vector<RunRow> runs, const LaunchRequest& request,
                                    const Fingerprint& data) {
  const std::string origin = request.origin ? to_json(*request.origin) : "";
  std::erase_if(runs, [&](const RunRow& run) { return run.origin != origin; });
  for (RunRow& run : runs) run = reconciled(store, run);
  return meant_first(folder, std::move(runs), [&] {
    return data ? data : data_fingerprint(request.resolved, folder.data(), Reading::all);
  });
}

// A recipe whose run was extended has been run: what comes of that run now is not the recipe's to
// say, so it is shown, never continued. A sweep has trials of its own length.
WhichRun extended_run(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                      const Fingerprint& data) {
  if (request.trial) return {};
  auto runs = reconciled_runs(
      store, folder, store.extended_runs(name_of(request), request.resolved.hash()), request, data);
  if (runs.empty()) return {};
  const RunState state = runs.front().state;
  const Decision decision = state == RunState::running    ? Decision::refuse_running
                            : state == RunState::finished ? Decision::show_result
                                                          : Decision::refuse_ended;
  return {decision, runs.front(), differ_in_data(runs)};
}

}  // namespace

bool needs_a_trainer(Decision decision) {
  return decision == Decision::start_new || decision == Decision::continue_run;
}

WhichRun which_run(const std::vector<RunRow>& same, bool always_new) {
  if (always_new || same.empty()) return {};
  return {decision_for(same.front()), same.front(), differ_in_data(same)};
}

WhichRun which_run(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                   bool always_new, const Fingerprint& data) {
  const auto runs = runs_meant(store, folder, request, data);
  const bool replaces = request.instead_of && !runs.empty() && runs[0].id == *request.instead_of;
  if (runs.empty() && !always_new) return extended_run(store, folder, request, data);
  WhichRun which = which_run(runs, always_new || replaces);
  if (request.continues_pruned && which.run && which.run->state == RunState::pruned)
    which.decision = Decision::continue_run;
  return which;
}

std::vector<RunRow> runs_meant(Store& store, const StoreFolder& folder,
                               const LaunchRequest& request, const Fingerprint& data) {
  return reconciled_runs(store, folder, store.runs(name_of(request), request.resolved.hash()),
                         request, data);
}

std::vector<RunRow> meant_first(const StoreFolder& folder, std::vector<RunRow> runs,
                                const KnownFingerprint& data) {
  if (const auto now = differ_in_data(runs) ? data() : std::nullopt)
    std::ranges::stable_partition(runs,
                                  [&](const RunRow& run) { return run.data_fingerprint == *now; });
  std::ranges::stable_partition(runs,
                                [&](const RunRow& run) { return has_folder(folder, run.folder); });
  return runs;
}

namespace {

using Tags = std::vector<std::string>;

Tags tags_of(const ResolvedRecipe& recipe) {
  return recipe.section("run").get<Tags>("tags");
}

void erase_all(Tags& tags, const Tags& known) {
  std::erase_if(tags, [&](const std::string& tag) { return std::ranges::count(known, tag) > 0; });
}

}  // namespace

std::vector<std::string> add_new_tags(Store& store, const RunRow& run, const ResolvedRecipe& now) {
  Tags added = tags_of(now);
  if (added.empty()) return added;
  erase_all(added, store.tags(run.id));
  if (added.empty()) return added;
  erase_all(added, tags_of(try_resolve(RecipeText::from_json(store.recipe_json(run.id))).recipe));
  for (const std::string& tag : added) store.add_tag(run.id, tag);
  return added;
}

void add_new_tags_aloud(Store& store, const RunRow& run, const ResolvedRecipe& now) {
  for (const std::string& tag : add_new_tags(store, run, now))
    log_info("added the tag " + tag + " to " + run.folder);
}

}  // namespace exprun
