#include "control/command/stored/run_reference.h"

#include <fnmatch.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "control/command/line/recipe_words.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/run/run_words.h"
#include "recipe/sweep/sweep_table.h"
#include "store/rows.h"

namespace exprun {
namespace {

// "mine-1a2b3c4d, mine-5e6f7a8b", the first of them where they are many.
std::string folders_of(const std::vector<RunRow>& runs) {
  constexpr size_t kNamed = 5;
  std::string folders;
  for (size_t i = 0; i < std::min(kNamed, runs.size()); ++i)
    folders += (i == 0 ? "" : ", ") + runs[i].folder;
  return folders + (runs.size() > kNamed ? ", ..." : "");
}

Error no_run(const Store& store, const std::string& reference, const std::string& advice) {
  return Error("store: no run '" + reference + "' in '" + store.file().string() + "'" + advice,
               ExitCode::no_such_run);
}

std::string word_or_throw(const Store& store, const StoreFolder& folder,
                          const std::string& reference, Store::Among among) {
  if (auto word = word_in_store(store, folder, reference, among)) return *std::move(word);
  throw no_run(store, reference, "");
}

// Newest first: those that were begun with this file, whatever overrides made of it, and those of
// its name, which may have come from elsewhere.
std::vector<RunRow> runs_of(const Store& store, const RecipeText& recipe, const std::string& file) {
  std::error_code ignored;
  const auto path = std::filesystem::weakly_canonical(file, ignored);
  const Resolution resolution = try_resolve(recipe);
  const auto name = resolution.is_valid("run")
                        ? resolution.recipe.section("run").get<std::string>("name")
                        : std::string();
  std::vector<RunRow> runs = store.runs();
  std::erase_if(runs, [&](const RunRow& run) {
    return run.name != name && recipe_file_of(store, run) != path;
  });
  return runs;
}

std::string advice_on_recipe(const Store& store, const std::string& file) {
  try {
    const RecipeText recipe = read_recipe(file, {});
    if (const auto runs = runs_of(store, recipe, file); !runs.empty())
      return "; it is a recipe: name one of its runs: " + folders_of(runs);
    return std::string("; it is a recipe, which has no run yet: ") + "exprun " +
           (has_sweep(recipe) ? "sweep " : "") + shell_quoted(file) + " trains one";
  } catch (const RecipeError&) {
    return "; it is a recipe, and not one without mistakes: exprun check " + shell_quoted(file) +
           " shows them";
  }
}

// For the path of a recipe, or of a run's folder in another store.
std::string advice_on_path(const Store& store, const StoreFolder& folder,
                           const std::string& reference) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (reference.ends_with(".toml") && fs::is_regular_file(reference, ignored))
    return advice_on_recipe(store, reference);
  if (reference.find('/') == std::string::npos || !fs::is_directory(reference, ignored)) return "";
  const std::string trimmed = reference.substr(0, reference.find_last_not_of('/') + 1);
  const fs::path other = fs::path(trimmed).parent_path();
  if (!is_store(other) || fs::equivalent(other, folder.path, ignored)) return "";
  return "; its folder is in another store: add --store " + shell_quoted(other.string());
}

// For the path of a file that a table may be wanted in.
std::string advice_on_output(const std::string& reference) {
  for (const char* written : {".csv", ".json", ".jsonl", ".md", ".tex", ".txt"})
    if (std::filesystem::path(reference).extension() == written)
      return "; what is printed goes to a file with > " + shell_quoted(reference);
  return "";
}

// For a series, which other tools take as a word of its own, and this command after an option.
std::string advice_on_series(const Store& store, const std::string& reference,
                             const std::string& option) {
  return std::ranges::count(store.series_names(), reference) == 0
             ? ""
             : "; it is a series: write " + option + ' ' + shell_quoted(reference);
}

// Throws in place of `error` where there is no such run and its path tells more.
void advise_on_path(const Error& error, const Store& store, const StoreFolder& folder,
                    const std::string& reference) {
  if (error.code() != ExitCode::no_such_run) return;
  if (const std::string advice = advice_on_path(store, folder, reference); !advice.empty())
    throw no_run(store, reference, advice);
}

// Newest first.
std::vector<RunRow> matching(const Store& store, const std::string& pattern, Store::Among among) {
  std::vector<RunRow> runs = runs_among(store, among);
  std::erase_if(runs, [&](const RunRow& run) { return !matches(pattern, run); });
  if (runs.empty())
    throw Error(std::string("store: no ") + (among == Store::Among::removed ? "removed " : "") +
                    "run matches '" + pattern + "' in '" + store.file().string() + "'",
                ExitCode::no_such_run);
  return runs;
}

void require_only_match(const std::string& pattern, const std::vector<RunRow>& runs) {
  if (runs.size() > 1)
    throw Error("store: '" + pattern + "' matches " + pluralize(runs.size(), "run") + ": " +
                    folders_of(runs) + "; name one of them",
                ExitCode::bad_recipe);
}

}  // namespace

bool is_pattern(const std::string& reference) {
  return reference.find_first_of("*?[") != std::string::npos &&
         reference.find('/') == std::string::npos;
}

bool matches(const std::string& pattern, const RunRow& run) {
  return ::fnmatch(pattern.c_str(), run.folder.c_str(), 0) == 0 ||
         ::fnmatch(pattern.c_str(), run.name.c_str(), 0) == 0;
}

std::vector<RunRow> runs_meant(const Store& store, const StoreFolder& folder,
                               const std::string& reference, Store::Among among) {
  if (is_pattern(reference)) return matching(store, reference, among);
  try {
    return store.runs_meant_by(word_or_throw(store, folder, reference, among), among);
  } catch (const Error& error) {
    if (among == Store::Among::kept) advise_on_path(error, store, folder, reference);
    throw;
  }
}

RunRow find_run(const Store& store, const StoreFolder& folder, const std::string& reference) {
  if (is_pattern(reference)) {
    std::vector<RunRow> runs = matching(store, reference, Store::Among::kept);
    require_only_match(reference, runs);
    return observed(store, folder, std::move(runs.front()));
  }
  try {
    return observed(store, folder,
                    store.find_run(word_or_throw(store, folder, reference, Store::Among::kept)));
  } catch (const Error& error) {
    advise_on_path(error, store, folder, reference);
    throw;
  }
}

RunRow find_run_and_say_which(const Store& store, const StoreFolder& folder,
                              const std::string& reference) {
  RunRow run = find_run(store, folder, reference);
  if (run.name != word_or_throw(store, folder, reference, Store::Among::kept)) return run;
  const std::vector<RunRow> named = store.runs(run.name);
  if (named.size() > 1 && named.front().id == run.id)
    log_info(run.folder + " is the newest of " + std::to_string(named.size()) + " runs named '" +
             run.name + "'");
  return run;
}

RunRow find_run_for_folder(const Store& store, const StoreFolder& folder,
                           const std::string& reference) {
  const auto best = reference == "@best" ? best_run_here(store, folder) : std::nullopt;
  if (!best) return find_run_and_say_which(store, folder, reference);
  say_which_is_best(*best);
  return observed(store, folder, best->run);
}

namespace {

// Of a sweep that has no run any more. One without any so far is no mistake.
void require_not_removed(const Store& store, const StoreFolder& folder, const SweepRow& sweep) {
  bool was_run = false, can_be_restored = false;
  for (const TrialRow& trial : store.trials(sweep.id)) {
    was_run |= trial.run || trial.purged;
    can_be_restored |= trial.run.has_value();
  }
  if (!was_run) return;
  throw Error(
      "store: the runs of sweep " + std::to_string(sweep.id) + " (" + sweep.name +
          ") were removed" +
          (can_be_restored ? "; `exprun restore --sweep " + std::to_string(sweep.id) +
                                 store_option(folder.shown) + "` brings them back"
                           : " and deleted from disk; its exprun sweep command trains them again"),
      ExitCode::no_such_run);
}

std::vector<RunRow> rows_of_sweep(const Store& store, const StoreFolder& folder,
                                  const std::string& reference, Store::Among among) {
  const SweepRow sweep = store.find_sweep(reference);
  const int64_t id = sweep.id;
  std::vector<RunRow> rows;
  if (among == Store::Among::kept) {
    for (const int64_t run : store.runs_of_sweep(id)) rows.push_back(*store.run(run));
    if (rows.empty()) require_not_removed(store, folder, sweep);
    return rows;
  }
  rows = store.removed_runs();
  std::erase_if(rows, [&](const RunRow& run) {
    const std::vector<int64_t> sweeps = store.sweeps_with_run(run.id);
    return std::ranges::find(sweeps, id) == sweeps.end();
  });
  return rows;
}

using RunsOfReference = std::function<std::vector<RunRow>(const std::string& reference)>;

std::vector<RunRow> rows_of(const Store& store, const StoreFolder& folder, const Words& references,
                            const std::string& sweep, Store::Among among,
                            const RunsOfReference& meant) {
  if (!sweep.empty() && !references.empty())
    throw Error("command line: give either names of runs or --sweep, not both",
                ExitCode::bad_recipe);
  if (!sweep.empty()) return rows_of_sweep(store, folder, sweep, among);
  if (references.empty()) return runs_among(store, among);
  std::vector<RunRow> rows;  // each once, in the order in which they are named
  std::set<int64_t> taken;
  for (const std::string& reference : references)
    for (RunRow& row : meant(reference))
      if (taken.insert(row.id).second) rows.push_back(std::move(row));
  return rows;
}

void require_one_run(const std::string& command, const std::string& reference,
                     const std::vector<RunRow>& meant, bool has_where) {
  if (meant.size() < 2) return;
  const std::string name = meant.front().name;
  throw Error(
      command + ": '" + reference + "' is the name of " + std::to_string(meant.size()) +
          " runs: " + folders_of(meant) + "; give folders or ids" +
          (has_where ? ", or for all of them --where " + shell_quoted("name==\"" + name + "\"")
                     : ""),
      ExitCode::bad_recipe);
}

}  // namespace

void require_one_meaning(const std::string& command, const Store& store,
                         const std::string& reference, const RunRow& meant, Store::Among among) {
  if (parse_number<int64_t>(reference) != meant.id) return;
  std::vector<RunRow> named = runs_among(store, among);
  std::erase_if(named,
                [&](const RunRow& run) { return run.name != reference || run.id == meant.id; });
  if (named.empty()) return;
  throw Error(command + ": '" + reference + "' is the id of " + meant.folder + " and the name of " +
                  folders_of(named) + "; give a folder",
              ExitCode::bad_recipe);
}

void require_runs(const std::string& command, const Words& references, const std::string& sweep) {
  if (references.empty() && sweep.empty())
    throw Error(command + ": name the runs, or a sweep with --sweep SWEEP", ExitCode::bad_recipe);
}

std::vector<RunRow> referred_runs(const Store& store, const StoreFolder& folder,
                                  const Words& references, const std::string& sweep,
                                  Store::Among among, const std::string& series_option) {
  return rows_of(store, folder, references, sweep, among, [&](const std::string& reference) {
    try {
      return runs_meant(store, folder, reference, among);
    } catch (const Error& error) {
      if (error.code() != ExitCode::no_such_run) throw;
      const std::string advice =
          advice_on_series(store, reference, series_option) + advice_on_output(reference);
      if (advice.empty()) throw;
      throw no_run(store, reference, advice);
    }
  });
}

std::vector<RunRow> runs_to_change(const std::string& command, const Store& store,
                                   const StoreFolder& folder, const Words& references,
                                   const std::string& sweep, Store::Among among, bool has_where) {
  return rows_of(store, folder, references, sweep, among, [&](const std::string& reference) {
    std::vector<RunRow> runs = runs_meant(store, folder, reference, among);
    if (is_pattern(reference)) return runs;
    require_one_meaning(command, store, reference, runs.front(), among);
    require_one_run(command, reference, runs, has_where);
    return runs;
  });
}

}  // namespace exprun
