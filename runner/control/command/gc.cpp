// exprun gc
#include "base/counted.h"
#include "base/diagnostic.h"
#include "base/file_lock.h"
#include "base/humane.h"
#include "base/log.h"
#include "base/number.h"
#include "control/command/arguments.h"
#include "control/command/stored_runs.h"
#include "control/data/unfinished_data.h"
#include "control/launch/observed_runs.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

int64_t bytes_below(const fs::path& folder) {
  int64_t bytes = 0;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) bytes += static_cast<int64_t>(entry->file_size(ignored));
  }
  return bytes;
}

void remove_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error)
    throw Error("gc: cannot remove '" + folder.string() + "': " + error.message() +
                "; mend that and run exprun gc again");
}

struct GcOptions {
  Words references;
  bool archived = false, dry_run = false;
};

void check(const GcOptions& wanted) {
  if (!wanted.references.empty() && !wanted.archived)
    throw Error("gc: RUN goes with --archived; to take a run off the disk, exprun rm it first",
                ExitCode::bad_recipe);
}

struct Found {
  std::vector<RunRow> removed;  // none when runs were named
  std::vector<RunRow> ended;    // those that --archived is about
  std::vector<fs::path> data;   // that preparations have left; none when runs were named
  int64_t bytes = 0;            // of the removed runs' folders and the data
};

// What is not about runs.
Found unfinished(const StoreFolder& folder) {
  Found found;
  found.data = unfinished_data(folder.data());
  for (const fs::path& data : found.data) found.bytes += bytes_below(data);
  return found;
}

Found look(const Store& store, const StoreFolder& folder, const GcOptions& wanted) {
  Found found;
  if (wanted.references.empty()) {
    found = unfinished(folder);
    found.removed = store.removed_runs();
  }
  for (const RunRow& run : found.removed) found.bytes += bytes_below(folder.run(run.folder).path);
  if (!wanted.archived) return found;
  for (RunRow& run : referred_runs(store, folder, wanted.references)) {
    if (run.state != RunState::running) {
      found.ended.push_back(std::move(run));
    } else if (!wanted.references.empty()) {
      throw Error("gc: " + run.folder + ' ' + is_running(run) + "; wait until it has ended");
    }
  }
  return found;
}

// "one removed run and 2 unfinished data folders (12.3 MiB) off the disk"
std::string off_the_disk(const Found& found) {
  const auto runs = static_cast<int64_t>(found.removed.size());
  const auto data = static_cast<int64_t>(found.data.size());
  if (runs + data == 0) return "nothing off the disk";
  std::string what = runs > 0 ? counted(runs, "removed run") : "";
  if (data > 0) what += (runs > 0 ? " and " : "") + counted(data, "unfinished data folder");
  return what + " (" + binary_bytes(static_cast<double>(found.bytes)) + ") off the disk";
}

void log_values(const RunRow& run, const std::string& what, int64_t values) {
  if (values > 0) log_info(run.folder + ": " + what + ' ' + with_thousands(values) + " values");
}

// What killed preparations have left, which needs no store.
void take_data(const StoreFolder& folder, const std::vector<fs::path>& data, bool dry_run) {
  for (const fs::path& left : data)
    log_info((dry_run ? "would take " : "taking ") + left.filename().string() +
             " off the disk, which nobody prepares");
  if (!dry_run && !data.empty()) remove_unfinished_data(folder.data());
}

int gc_data(const StoreFolder& folder, bool dry_run) {
  const Found found = unfinished(folder);
  take_data(folder, found.data, dry_run);
  log_info((dry_run ? "would take " : "took ") + off_the_disk(found) + "; there are no runs");
  return 0;
}

int64_t clean(Store& store, const StoreFolder& folder, const Found& found) {
  for (const RunRow& run : found.removed) {
    const HeldRun held = hold(folder, run);
    if (!held.is_free) {
      log_warning("gc: " + run.folder + " is in use and stays; run exprun gc again later");
      continue;
    }
    log_info("taking " + run.folder + " off the disk");
    store.purge_run(run.id, [&] { remove_folder(folder.run(run.folder).path); });
  }
  take_data(folder, found.data, /*dry_run=*/false);
  for (const RunRow& run : found.ended)
    log_values(run, "of earlier attempts, dropped", store.purge_archived(run.id));
  store.purge_blobs();
  return store.return_space();
}

void say_what_would_be_done(const Store& store, const StoreFolder& folder, const Found& found) {
  for (const RunRow& run : found.removed) log_info("would take " + run.folder + " off the disk");
  take_data(folder, found.data, /*dry_run=*/true);
  for (const RunRow& run : found.ended)
    log_values(run, "of earlier attempts, would drop", store.archived_values(run.id));
}

}  // namespace

int run_gc(const Words& words, const Globals& globals) {
  GcOptions wanted;
  Arguments arguments("gc [RUN...]",
                      "Takes removed runs off the disk for good, with their checkpoints, and data "
                      "whose preparation was killed, and gives the store's free space back. Runs "
                      "may train meanwhile.");
  arguments
      .words(
          "RUN...", wanted.references,
          "of --archived: only these runs, instead of all that have ended; removed runs are then "
          "left alone",
          offer::runs)
      .flag("--dry-run", wanted.dry_run, "only say what would be done")
      .flag("--archived", wanted.archived,
            "also drop the values of earlier attempts that a resume replaced, of ended runs")
      .exit_codes(kReadsRuns)
      .example("exprun gc --dry-run", "what would be taken off the disk");
  if (!arguments.parse(words)) return 0;
  check(wanted);
  // Where data were prepared only, nothing has made a store.
  if (!wanted.archived && !fs::exists(globals.store.database()) && fs::exists(globals.store.data()))
    return gc_data(globals.store, wanted.dry_run);
  Store store = open_store_to_change(globals.store);
  const Found found = look(store, globals.store, wanted);
  if (wanted.dry_run) {
    say_what_would_be_done(store, globals.store, found);
    log_info("would take " + off_the_disk(found));
    return 0;
  }
  const int64_t returned = clean(store, globals.store, found);
  log_info("took " + off_the_disk(found) + "; the store is " +
           binary_bytes(static_cast<double>(returned)) + " smaller");
  return 0;
}

}  // namespace exprun
