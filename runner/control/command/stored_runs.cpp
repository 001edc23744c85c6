#include "control/command/stored_runs.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "control/launch/observed_runs.h"

namespace exprun {
namespace {

std::optional<SeriesRow> series_named(const std::vector<SeriesRow>& all, const char* name) {
  for (const SeriesRow& series : all)
    if (series.name == name) return series;
  return std::nullopt;
}

void require_store(const StoreFolder& folder) {
  if (std::filesystem::exists(folder.database())) return;
  throw Error("store: there is no store in " + folder.shown.string() +
                  " yet: run a recipe first, or say where it is with --store DIR",
              ExitCode::no_such_run);
}

// "runs/quickstart-1a2b3c4d/", as a shell completes it, is the folder's name to the store.
std::string last_component(const std::string& reference) {
  const std::string trimmed = reference.substr(0, reference.find_last_not_of('/') + 1);
  return std::filesystem::path(trimmed).filename().string();
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
  store.settle_all();
  return store;
}

RunRow find_run(const Store& store, const StoreFolder& folder, const std::string& reference) {
  return observed(store, folder, store.find_run(last_component(reference)));
}

std::vector<ReportedRun> all_runs(const Store& store, const StoreFolder& folder,
                                  std::vector<RunRow> rows) {
  const auto val_loss = store.series_by_run("val/loss");
  const auto train_loss = store.series_by_run("train/loss");
  const auto of = [](const auto& series, int64_t run) -> std::optional<SeriesRow> {
    const auto found = series.find(run);
    return found == series.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<ReportedRun> runs;
  for (RunRow& row : rows) {
    const int64_t id = row.id;
    runs.push_back(
        {observed(store, folder, std::move(row)), {}, of(val_loss, id), of(train_loss, id)});
  }
  return runs;
}

ReportedRun reported_run(const Store& store, RunRow run) {
  const auto all = store.series(run.id);
  const int64_t id = run.id;
  return {std::move(run), store.parameters(id), series_named(all, "val/loss"),
          series_named(all, "train/loss")};
}

std::vector<ReportedRun> reported_runs(const Store& store, const StoreFolder& folder,
                                       const Words& references) {
  std::vector<RunRow> rows;
  for (const std::string& reference : references) {
    const auto named = store.runs(reference);
    rows.insert(rows.end(), named.begin(), named.end());
    if (named.empty()) rows.push_back(find_run(store, folder, reference));
  }
  if (references.empty()) rows = store.runs();
  std::vector<ReportedRun> runs;
  for (RunRow& row : rows) {
    const bool twice = std::any_of(
        runs.begin(), runs.end(), [&](const ReportedRun& other) { return other.run.id == row.id; });
    if (!twice) runs.push_back(reported_run(store, observed(store, folder, std::move(row))));
  }
  return runs;
}

}  // namespace exprun
