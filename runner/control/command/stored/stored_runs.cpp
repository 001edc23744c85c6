#include "control/command/stored/stored_runs.h"

#include <algorithm>
#include <optional>

#include "base/diagnostic.h"
#include "base/files/disk_reserve.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/stored/recorded_criterion.h"
#include "control/command/stored/run_reference.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/run/run_data.h"
#include "control/report/run_details.h"
#include "control/report/runs_table.h"
#include "recipe/sweep/sweep_table.h"

namespace exprun {
namespace {

void require_store(const StoreFolder& folder) {
  if (std::filesystem::exists(folder.database())) return;
  const bool is_project = is_store(folder.path / kUsualStore);
  throw Error(
      "store: there is no store in '" + folder.shown.string() + "' yet; " +
          (is_project
               ? "did you mean --store " + shell_quoted((folder.shown / kUsualStore).string()) + "?"
               : "run a recipe first, or give the folder of a store with --store DIR"),
      ExitCode::no_such_run);
}

RecipeText read_stored(const std::string& json) {
  RecipeText text = RecipeText::from_json(json);
  text.mark_as_stored();
  return text;
}

}  // namespace

Store open_store(const StoreFolder& folder) {
  require_store(folder);
  return Store(folder.database(), Store::Access::read_only);
}

Store open_store_to_change(const StoreFolder& folder) {
  require_store(folder);
  return open_store_to_write(folder);
}

Store open_store_to_write(const StoreFolder& folder) {
  Store store(folder.database(), Store::Access::read_write);
  keep_disk_reserve(folder.reserve());
  store.reconcile_all();
  return store;
}

std::string why_no_runs(const Store& store, const StoreFolder& folder) {
  const auto removed = static_cast<int64_t>(store.removed_runs().size());
  return removed == 0 ? "no runs yet"
                      : "no runs; exprun ls --removed" + store_option(folder.shown) + " lists " +
                            pluralize(removed, "removed run");
}

RecipeText stored_recipe(const Store& store, const RunRow& run, const Words& changes) {
  RecipeText text = read_stored(store.recipe_json(run.id));
  text.type(changes);
  return text;
}

RecipeText latest_recipe(const Store& store, const StoreFolder& folder, const RunRow& run) {
  const auto file = folder.run(run.folder).recipe();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return stored_recipe(store, run);
  return read_stored(read_file(file));
}

DatasetInfo dataset_info_of(const StoreFolder& folder, const RunRow& run) {
  const auto data = data_of_run(folder.run(run.folder));
  return data ? facts_of(*data) : DatasetInfo{};
}

ResolvedRecipe resolve_stored(const RecipeText& text, const char* command,
                              const std::string& reference, const DatasetInfo& dataset_info) {
  try {
    return resolve(text, dataset_info);
  } catch (const RecipeError& error) {
    throw Error(command +
                    (": this version of exprun does not understand the recipe of " + reference) +
                    " (" + error.diagnostics().front().message +
                    "); another version wrote it, and `exprun show " + shell_quoted(reference) +
                    "` prints it as recorded",
                ExitCode::bad_recipe);
  }
}

RecipeText understood_recipe(const Store& store, const RunRow& run, const Words& changes,
                             const char* command, const std::string& reference) {
  resolve_stored(stored_recipe(store, run), command, reference);
  return stored_recipe(store, run, changes);
}

std::vector<ReportedRun> all_runs(const Store& store, const StoreFolder& folder,
                                  std::vector<RunRow> rows) {
  auto val_loss = store.series_by_run("val/loss"), train_loss = store.series_by_run("train/loss");
  const auto of = [](auto& series, int64_t run) -> std::optional<SeriesRow> {
    const auto found = series.find(run);
    return found == series.end() ? std::nullopt : std::optional(std::move(found->second));
  };
  std::vector<ReportedRun> runs;
  runs.reserve(rows.size());
  for (RunRow& row : rows) {
    const int64_t id = row.id;
    runs.push_back(
        {observed(store, folder, std::move(row)), {}, of(val_loss, id), of(train_loss, id)});
  }
  return runs;
}

void read_parameters(const Store& store, std::vector<ReportedRun>& runs) {
  auto parameters = store.parameters(ids_of(runs));
  for (ReportedRun& reported : runs) reported.parameters = std::move(parameters[reported.run.id]);
}

std::vector<ReportedRun> reported_runs(const Store& store, const StoreFolder& folder,
                                       const Words& references, const std::string& sweep) {
  auto runs = all_runs(store, folder, referred_runs(store, folder, references, sweep));
  read_parameters(store, runs);
  return runs;
}

std::string result_of(const Store& store, const StoreFolder& folder, const RunRow& run) {
  return run_result(run, store.series(run.id), recorded_criterion(store, run),
                    shown_folder(folder, run.folder));
}

void require_state(const std::string& who, const std::string& name) {
  const std::vector<std::string> names = shown_state_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw Error(who + ": there is no state '" + name + "' (" + joined(names) + ")",
              ExitCode::bad_recipe);
}

}  // namespace exprun
