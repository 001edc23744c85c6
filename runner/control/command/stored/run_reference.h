// Which runs the words of a command line mean.
#pragma once

#include <string>
#include <vector>

#include "control/command/command.h"
#include "control/launch/store_folder.h"
#include "store/store.h"

namespace exprun {

// Whether a reference means runs by a pattern of their folders or names, as 'mine-*' does: no name
// has such a character. A path is none.
bool is_pattern(const std::string& reference);
bool matches(const std::string& pattern, const RunRow& run);

// The runs of a reference as Store::runs_meant_by() takes it, or of the path of a run's folder, or
// those that a pattern matches; one at least. Throws Error. Every command goes by it.
std::vector<RunRow> runs_meant(const Store& store, const StoreFolder& folder,
                               const std::string& reference,
                               Store::Among among = Store::Among::kept);

// The newest of them; a pattern must match one only. In its observed state.
RunRow find_run(const Store& store, const StoreFolder& folder, const std::string& reference);

// The same for a command that prints nothing by which one would know the run: says which it is if
// several have the name.
RunRow find_run_and_say_which(const Store& store, const StoreFolder& folder,
                              const std::string& reference);

// The same for a command that needs the run's folder: @best means the best run whose folder is
// here, if there is one, and a better one is named.
RunRow find_run_for_folder(const Store& store, const StoreFolder& folder,
                           const std::string& reference);

// Throws Error (wrong usage) where a reference, which means this run, is its id and the name of
// others, for a command that loses something.
void require_one_meaning(const std::string& command, const Store& store,
                         const std::string& reference, const RunRow& meant,
                         Store::Among among = Store::Among::kept);

// Throws Error (wrong usage) where neither runs nor a sweep are named.
void require_runs(const std::string& command, const Words& references, const std::string& sweep);

// The rows of the references (a name or a pattern means all its runs), or of the `sweep` that is
// given in their stead: its number, its name or @last; all runs, newest first, if there is neither.
// Throws Error; of a series, which is no run, it says which option of the command takes it.
std::vector<RunRow> referred_runs(const Store& store, const StoreFolder& folder,
                                  const Words& references, const std::string& sweep = "",
                                  Store::Among among = Store::Among::kept,
                                  const std::string& series_option = "--metric");

// The same for a command that would take one of several runs unasked, or all: each reference but a
// pattern must mean one run only, as require_one_meaning() does. `has_where`: the command has
// --where, which can mean several.
std::vector<RunRow> runs_to_change(const std::string& command, const Store& store,
                                   const StoreFolder& folder, const Words& references,
                                   const std::string& sweep, Store::Among among, bool has_where);

}  // namespace exprun
