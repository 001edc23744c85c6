// exprun gc
#include <map>
#include <set>

#include "base/diagnostic.h"
#include "base/files/disk_reserve.h"
#include "base/files/file_lock.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/data/prepared_set.h"
#include "control/launch/launch.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/run/run_lock.h"
#include "store/rows.h"

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
                "; fix that and run exprun gc again");
}

struct GcOptions {
  Words references;
  bool archived = false, data = false, origins = false, dry_run = false;
};

void check(const GcOptions& wanted) {
  if (!wanted.references.empty() && (wanted.data || wanted.origins))
    throw Error(std::string("gc: ") + (wanted.data ? "--data" : "--origins") +
                    " is about all runs; give it without RUN",
                ExitCode::bad_recipe);
  if (!wanted.references.empty() && !wanted.archived)
    throw Error(
        "gc: RUN needs --archived; to delete a run from the disk, remove it with exprun rm first",
        ExitCode::bad_recipe);
}

struct KeptOrigin {
  RunRow run;       // a removed one
  std::string why;  // "tuned-1a2b3c4d is a fork of it"
};

struct Found {
  std::vector<RunRow> removed;   // those that go; none when runs were named
  std::vector<KeptOrigin> kept;  // removed ones that others began with
  std::vector<RunRow> ended;     // those that --archived is about
  std::vector<fs::path> data;    // that preparations have left; none when runs were named
  std::vector<fs::path> unused;  // prepared data that no run has
  int64_t bytes = 0;             // of the removed runs' folders and the data
};

// What is not about runs.
Found unfinished(const StoreFolder& folder) {
  Found found;
  found.data = unfinished_data(folder.data());
  for (const fs::path& data : found.data) found.bytes += bytes_below(data);
  return found;
}

// Runs that began with a checkpoint of another: without that, exprun rerun cannot repeat them, nor
// can they begin anew where they have no checkpoint of their own yet.
struct Users {
  Words warm_starts, forks;

  bool any() const { return !warm_starts.empty() || !forks.empty(); }
  std::string text() const {
    constexpr size_t kMostNamed = 3;
    Words said;
    if (!warm_starts.empty())
      said.push_back(some_of(warm_starts, kMostNamed) + " began with its weights (init_from)");
    if (!forks.empty())
      said.push_back(some_of(forks, kMostNamed) +
                     (forks.size() == 1 ? " is a fork of it" : " are forks of it"));
    return listed(said);
  }
};

// Adds `began`, of which `init_from` has the weights, to the users of what they began with.
void add_users(std::vector<Users>& users, const std::vector<RunRow>& removed,
               const std::vector<RunRow>& began, const std::map<int64_t, std::string>& init_from) {
  for (const RunRow& run : began) {
    const auto origin = origin_of(run);
    const auto weights = init_from.find(run.id);
    for (size_t i = 0; i < removed.size(); ++i) {
      if (origin && origin->uid == removed[i].uid) users[i].forks.push_back(run.folder);
      // It is a path there, and the name of a folder, which has digits of a uid, tells it.
      if (weights != init_from.end() &&
          weights->second.find(removed[i].folder) != std::string::npos)
        users[i].warm_starts.push_back(run.folder);
    }
  }
}

// Those that runs which stay began with, and whose folder is here: of others nothing is left to
// begin with. What is kept so stays too: without its own origin it could not be repeated either.
void keep_origins(Found& found, const Store& store, const StoreFolder& folder) {
  if (found.removed.empty()) return;
  const auto init_from = store.parameter_by_run("model.init_from");
  std::vector<Users> users(found.removed.size());
  std::vector<bool> is_kept(found.removed.size());
  for (std::vector<RunRow> stay = store.runs(); !stay.empty();) {
    add_users(users, found.removed, stay, init_from);
    stay.clear();
    for (size_t i = 0; i < users.size(); ++i) {
      if (is_kept[i] || !users[i].any() || !has_folder(folder, found.removed[i].folder)) continue;
      is_kept[i] = true;
      stay.push_back(found.removed[i]);
    }
  }
  std::vector<RunRow> deleted;
  for (size_t i = 0; i < users.size(); ++i) {
    if (is_kept[i])
      found.kept.push_back({std::move(found.removed[i]), users[i].text()});
    else
      deleted.push_back(std::move(found.removed[i]));
  }
  found.removed = std::move(deleted);
}

Found look(const Store& store, const StoreFolder& folder, const GcOptions& wanted) {
  Found found;
  if (wanted.references.empty()) {
    found = unfinished(folder);
    found.removed = store.removed_runs();
    if (!wanted.origins) keep_origins(found, store, folder);
  }
  for (const RunRow& run : found.removed) found.bytes += bytes_below(folder.run(run.folder).path);
  if (!wanted.archived) return found;
  for (RunRow& run : runs_to_change("gc", store, folder, wanted.references, "", Store::Among::kept,
                                    /*has_where=*/false)) {
    if (run.state != RunState::running) {
      found.ended.push_back(std::move(run));
    } else if (!wanted.references.empty()) {
      throw Error("gc: " + run.folder + ' ' + is_running(run, "wait until it has ended"));
    }
  }
  return found;
}

// "one removed run and 2 unfinished data folders (12.3 MiB) from disk"
std::string from_disk(const Found& found) {
  Words what;
  const auto add = [&](size_t count, const char* noun) {
    if (count > 0) what.push_back(pluralize(static_cast<int64_t>(count), noun));
  };
  add(found.removed.size(), "removed run");
  add(found.data.size(), "unfinished data folder");
  add(found.unused.size(), "unused dataset");
  if (what.empty()) return "nothing from disk";
  return listed(what) + " (" + binary_bytes(static_cast<double>(found.bytes)) + ") from disk";
}

void log_values(const RunRow& run, const std::string& what, int64_t values) {
  if (values > 0) log_info(run.folder + ": " + what + ' ' + with_thousands(values) + " values");
}

// What killed preparations have left, which needs no store.
void take_data(const StoreFolder& folder, const std::vector<fs::path>& data, bool dry_run) {
  for (const fs::path& left : data)
    log_info((dry_run ? "would delete " : "deleting ") + left.filename().string() +
             " from disk: unfinished data that no process is preparing");
  if (!dry_run && !data.empty()) remove_unfinished_data(folder.data(), remove_folder);
}

int gc_data(const StoreFolder& folder, bool dry_run) {
  const Found found = unfinished(folder);
  take_data(folder, found.data, dry_run);
  log_info((dry_run ? "would delete " : "deleted ") + from_disk(found) + "; there are no runs");
  return 0;
}

// Prepared data that no run was made with; removed runs count until they are deleted.
std::vector<fs::path> unused_data(const Store& store, const StoreFolder& folder,
                                  const std::vector<RunRow>& removed) {
  std::set<std::string> used;
  for (const RunRow& run : store.runs()) used.insert(run.data_fingerprint);
  for (const RunRow& run : removed) used.insert(run.data_fingerprint);
  std::vector<fs::path> unused;
  for (const fs::path& set : prepared_sets(folder.data()))
    if (!used.contains(set.filename().string())) unused.push_back(set);
  return unused;
}

// `removed`: the removed runs that stay.
void find_unused_data(Found& found, const Store& store, const StoreFolder& folder,
                      const std::vector<RunRow>& removed) {
  found.unused = unused_data(store, folder, removed);
  for (const fs::path& set : found.unused) found.bytes += bytes_below(set);
}

// Holds the locks of launches and preparations: nobody is about to use what is deleted.
void delete_unused_data(Found& found, const Store& store, const StoreFolder& folder) {
  if (!fs::exists(folder.data())) return;
  const FileLock launches = launch_lock(folder);
  const auto preparing = TransientLock::try_take(preparing_lock(folder.data()));
  if (!preparing)
    return log_warning(
        "gc: data is being prepared, so none is deleted; run exprun gc --data again later");
  find_unused_data(found, store, folder, store.removed_runs());
  for (const fs::path& set : found.unused) remove_folder(set);
}

// Whether nobody uses it: else it stays.
bool purge(Store& store, const StoreFolder& folder, const RunRow& run) {
  const HeldRun held = hold_ended_run(folder, run);
  if (!held.is_free) {
    log_warning("gc: " + run.folder + " is in use and stays; run exprun gc again later");
    return false;
  }
  log_info("deleting " + run.folder + " from disk");
  store.purge_run(run.id, [&] { remove_folder(folder.run(run.folder).path); });
  return true;
}

// Leaves what is deleted in `found`.
int64_t clean(Store& store, const StoreFolder& folder, Found& found) {
  std::erase_if(found.removed, [&](const RunRow& run) {
    const int64_t bytes = bytes_below(folder.run(run.folder).path);
    if (purge(store, folder, run)) return false;
    found.bytes -= bytes;
    return true;
  });
  take_data(folder, found.data, /*dry_run=*/false);
  for (const RunRow& run : found.ended)
    log_values(run, "of earlier attempts, deleted", store.purge_archived(run.id));
  store.purge_blobs();
  return store.return_space();
}

void say_what_is_kept(const Found& found, const StoreFolder& folder) {
  for (const KeptOrigin& kept : found.kept) log_info("kept " + kept.run.folder + ": " + kept.why);
  if (!found.kept.empty())
    log_info("`exprun gc --origins" + store_option(folder) + "` deletes " +
             (found.kept.size() == 1 ? "it" : "them") + " too");
}

void say_what_would_be_done(const Store& store, const StoreFolder& folder, const Found& found) {
  for (const RunRow& run : found.removed) log_info("would delete " + run.folder + " from disk");
  take_data(folder, found.data, /*dry_run=*/true);
  for (const RunRow& run : found.ended)
    log_values(run, "of earlier attempts, would drop", store.archived_values(run.id));
}

}  // namespace

int run_gc(const Words& words, const Globals& globals) {
  GcOptions wanted;
  Arguments arguments(
      "gc [RUN...]",
      "Permanently deletes removed runs with their checkpoints, except those that other runs began "
      "with, deletes data whose preparation was killed, and shrinks the store. Runs can train "
      "meanwhile.");
  arguments
      .words(
          "RUN...", wanted.references,
          "with --archived: drop replaced values only in these runs, instead of in all that have "
          "ended; removed runs are then not deleted",
          offer::runs)
      .flag("--dry-run", wanted.dry_run, "only report what would be done")
      .flag("--archived", wanted.archived,
            "in runs that have ended, also delete the values that a later attempt replaced")
      .flag("--data", wanted.data, "also delete prepared data that no run uses")
      .flag("--origins", wanted.origins,
            "also delete removed runs that other runs began with (model.init_from, exprun fork); "
            "without their checkpoints, exprun rerun cannot repeat those runs")
      .exit_codes(kReadsRuns)
      .example("exprun gc --dry-run", "what would be deleted");
  if (!arguments.parse(words)) return 0;
  check(wanted);
  // Where data were prepared only, nothing has made a store.
  if (!wanted.archived && !wanted.data && !fs::exists(globals.store.database()) &&
      fs::exists(globals.store.data()))
    return gc_data(globals.store, wanted.dry_run);
  const UsedDiskReserve reserve(globals.store.reserve());
  Store store = open_store_to_change(globals.store);
  Found found = look(store, globals.store, wanted);
  if (wanted.dry_run) {
    std::vector<RunRow> stay;
    for (const KeptOrigin& kept : found.kept) stay.push_back(kept.run);
    if (wanted.data) find_unused_data(found, store, globals.store, stay);
    say_what_would_be_done(store, globals.store, found);
    say_what_is_kept(found, globals.store);
    log_info("would delete " + from_disk(found));
    return 0;
  }
  const int64_t returned = clean(store, globals.store, found);
  say_what_is_kept(found, globals.store);
  if (wanted.data) delete_unused_data(found, store, globals.store);
  const std::string shrunk = binary_bytes(static_cast<double>(returned));
  log_info("deleted " + from_disk(found) +
           (returned > 0 ? "; the store's database is " + shrunk + " smaller" : ""));
  return 0;
}

}  // namespace exprun
