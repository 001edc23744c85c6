// exprun merge OTHER.db
#include <fstream>
#include <string_view>

#include "base/diagnostic.h"
#include "base/files/run_folder.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/stored_runs.h"
#include "store/run_state.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

fs::path database_of(const std::string& what) {
  std::error_code ignored;
  return fs::is_directory(what, ignored) ? fs::path(what) / "exprun.db" : fs::path(what);
}

// By how such a file begins; one that cannot be read, or is empty, is the store's to refuse.
bool is_database(const fs::path& file) {
  constexpr std::string_view kBegin = "SQLite format 3";
  std::string begin(kBegin.size(), ' ');
  std::ifstream in(file, std::ios::binary);
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return in.gcount() == 0 || begin == kBegin;
}

// Empty where it may be a store.
std::string problem_of(const std::string& what, const fs::path& other) {
  if (!fs::exists(other)) return "there is no store '" + what + "'";
  if (!is_database(other)) return "'" + what + "' is not a store";
  if (!Store::is_store(other))
    return "'" + what + "' is not a store, but a database of another program";
  return "";
}

// Its lock lies beside the other store. On another host nobody can tell, so it counts as running;
// so does, for a moment, one whose folder was not copied with the database.
bool still_runs(const RunRow& run, const fs::path& other) {
  return as_observed(run, other.parent_path()).state == RunState::running;
}

}  // namespace

int run_merge(const Words& words, const Globals& globals) {
  std::string what;
  bool copied = false;
  Arguments arguments(
      "merge OTHER",
      "Copies the runs of another store into this one. Merging again adds what is new. Checkpoints "
      "and logs stay where they are; to resume a run here, copy its folder too.");
  arguments.word("OTHER", what, "a store's file (exprun.db) or its folder", offer::files)
      .flag("--ended", copied,
            "treat all runs in OTHER as ended; use it if OTHER is a copy of a store")
      .note(
          "Runs that are still running are left out; merge again when they have ended. Runs that "
          "were continued separately in both stores are left out too. To replace such a run with "
          "the one in OTHER, run exprun rm RUN and exprun gc (which deletes all removed runs), "
          "then merge again.")
      .exit_codes({ExitCode::done, ExitCode::bad_recipe, ExitCode::store_error})
      .example("exprun merge laptop/runs", "the runs of the store in that folder");
  if (!arguments.parse(words)) return 0;
  const fs::path other = fs::absolute(database_of(what));
  if (const std::string problem = problem_of(what, other); !problem.empty()) {
    const fs::path below = fs::path(what) / kUsualStore;
    std::error_code ignored;
    const bool is_another = is_store(below) && !fs::equivalent(below, globals.store.path, ignored);
    throw Error("merge: " + problem +
                    (is_another ? "; did you mean '" + below.string() + "'?"
                                : ": give the exprun.db file of another store, or the folder "
                                  "that contains it"),
                ExitCode::store_error);
  }
  Store store = open_store_to_write(globals.store);
  const Store::Merged merged =
      store.merge(other, [&](const RunRow& run) { return !copied && still_runs(run, other); });
  for (const std::string& run : merged.kept_out) log_warning("merge: left out " + run);
  if (!merged.kept_out.empty())
    log_info("merge: exprun merge --help says how to take in runs that were left out");
  log_info(pluralize(merged.added, "run") + " added, " + std::to_string(merged.updated) +
           " updated, " + std::to_string(merged.unchanged) + " unchanged");
  if (merged.added + merged.updated > 0)
    log_info("checkpoints and logs stay in '" + other.parent_path().string() +
             "'; to continue or sample a run here, copy its folder to '" +
             globals.store.shown.string() + "' too");
  return 0;
}

}  // namespace exprun
