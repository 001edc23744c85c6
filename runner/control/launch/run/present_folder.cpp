#include "control/launch/run/present_folder.h"

#include <set>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/log.h"
#include "control/launch/launch.h"
#include "control/launch/run/repeated_run.h"

namespace exprun {

bool has_folder(const StoreFolder& folder, const std::string& run) {
  return folder_exists(folder.run(run).path);
}

namespace {

// Of the runs with its name, the newest whose folder is here.
std::string advice_on_namesake(const StoreFolder& folder, const RunRow& run) {
  const Store store(folder.database(), Store::Access::read_only);
  for (const RunRow& other : store.runs(run.name))
    if (has_folder(folder, other.folder))
      return "; " + other.folder + " has the same name, and its folder is here";
  return "";
}

}  // namespace

void require_run_folder(const StoreFolder& folder, const RunRow& run, const std::string& command,
                        const std::string& instead) {
  if (has_folder(folder, run.folder)) return;
  const std::string why = why_not_repeated(folder, run);
  const std::string anew = instead.empty() ? how_to_start_anew(run, folder) : instead;
  throw Error(command + ": the folder of " + run.folder +
              " is not in this store; if it was deleted, " + (why.empty() ? anew + ", or " : "") +
              "remove its record: exprun rm " + folder.words_for(run.folder) +
              (why.empty() ? "" : " (it " + why + ")") +
              "; if the run was merged from another store, name that one with --store" +
              advice_on_namesake(folder, run));
}

namespace {

size_t datasets_of(const Store& store, const std::set<int64_t>& ids) {
  std::set<std::string> datasets;
  for (const RunRow& run : store.runs())
    if (ids.contains(run.id)) datasets.insert(run.data_fingerprint);
  return datasets.size();
}

}  // namespace

std::optional<BestHere> best_run_here(const Store& store, const StoreFolder& folder) {
  std::string better;
  const std::vector<int64_t> ids = store.runs_best_first();
  for (const int64_t id : ids) {
    auto run = store.run(id);
    if (run && has_folder(folder, run->folder))
      return BestHere{std::move(*run), better, datasets_of(store, {ids.begin(), ids.end()})};
    if (run && better.empty()) better = run->folder;
  }
  return std::nullopt;
}

void say_which_is_best(const BestHere& best) {
  const std::string text = best.better.empty()
                               ? "@best is " + best.run.folder
                               : "@best: " + best.better +
                                     " is better, but its folder is not in this store; taking " +
                                     best.run.folder;
  log_info(best.datasets < 2
               ? text
               : text + "; the runs compared were trained on " + std::to_string(best.datasets) +
                     " different datasets, so their losses may not be comparable");
}

std::string shown_folder(const StoreFolder& folder, const std::string& run) {
  return has_folder(folder, run)
             ? (folder.shown / run).string()
             : "not in this store: it was deleted, or the run was merged from another one";
}

}  // namespace exprun
