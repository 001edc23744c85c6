// exprun gc
#include "base/diagnostic.h"
#include "base/file_lock.h"
#include "base/humane.h"
#include "base/log.h"
#include "control/command/arguments.h"
#include "control/command/stored_runs.h"

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

struct Found {
  std::vector<RunRow> removed;
  std::vector<RunRow> with_archive;
  int64_t bytes = 0;  // of the removed runs' folders
};

Found look(const Store& store, const StoreFolder& folder, bool archived) {
  Found found;
  found.removed = store.removed_runs();
  for (const RunRow& run : found.removed) found.bytes += bytes_below(folder.run(run.folder).path);
  if (!archived) return found;
  for (const RunRow& run : store.runs())
    if (run.attempt > 1 && run.state != RunState::running) found.with_archive.push_back(run);
  return found;
}

int64_t clean(Store& store, const StoreFolder& folder, const Found& found) {
  for (const RunRow& run : found.removed) {
    log_info("taking " + run.folder + " off the disk");
    store.purge_run(run.id, [&] { remove_folder(folder.run(run.folder).path); });
  }
  for (const RunRow& run : found.with_archive) {
    const int64_t values = store.purge_archived(run.id);
    if (values > 0)
      log_info(run.folder + ": dropped " + std::to_string(values) + " values of earlier attempts");
  }
  store.purge_blobs();
  return store.return_space();
}

}  // namespace

int run_gc(const Words& words, const Globals& globals) {
  bool dry_run = false, archived = false;
  Arguments arguments("gc",
                      "Takes removed runs off the disk for good, with their checkpoints, and gives "
                      "the store's free space back. Runs may train meanwhile.");
  arguments.flag("--dry-run", dry_run, "only say what would go")
      .flag("--archived", archived,
            "also drop the values of earlier attempts that a resume replaced, of all ended runs");
  if (!arguments.parse(words)) return 0;
  Store store = open_store_to_change(globals.store);
  const Found found = look(store, globals.store, archived);
  const std::string folders = std::to_string(found.removed.size()) +
                              " removed runs with folders of " +
                              binary_bytes(static_cast<double>(found.bytes));
  if (dry_run) {
    for (const RunRow& run : found.removed) log_info("would take " + run.folder + " off the disk");
    log_info("there are " + folders);
    return 0;
  }
  const int64_t returned = clean(store, globals.store, found);
  log_info("took " + folders + " off the disk; the store is " +
           binary_bytes(static_cast<double>(returned)) + " smaller");
  return 0;
}

}  // namespace exprun
