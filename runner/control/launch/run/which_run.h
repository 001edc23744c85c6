// Which run a plain `exprun RECIPE` means, and what is to be done with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/launch/store_folder.h"
#include "recipe/resolved.h"
#include "store/rows.h"
#include "store/store.h"

namespace exprun {

struct LaunchRequest;

enum class Decision {
  start_new,     // none has this name and hash, or --new
  continue_run,  // it ended before its last step, and by no fault of its own: its last attempt may
                 // have failed before a step
  show_result,   // it is finished
  refuse_running,
  refuse_ended,  // it failed in training, diverged or was pruned: only the user knows what to do;
                 // or it was extended, and ended before its last step
};

bool needs_a_trainer(Decision decision);

struct WhichRun {
  Decision decision = Decision::start_new;
  std::optional<RunRow> run;  // which one it is about
  // Whether runs of this recipe were trained on other data: then the present data say which is
  // meant.
  bool has_runs_on_other_data = false;

  // The same attempt of the same run: nobody has continued it meanwhile.
  friend bool operator==(const WhichRun& a, const WhichRun& b) {
    if (a.decision != b.decision || a.run.has_value() != b.run.has_value()) return false;
    return !a.run || (a.run->id == b.run->id && a.run->attempt == b.run->attempt);
  }
};

// `same` has the runs of the same name and hash, in their observed states, the one meant first.
WhichRun which_run(const std::vector<RunRow>& same, bool always_new);

// The same of what is to be launched, with what it says of the run: `instead_of`,
// `continues_pruned`. Where no run has this hash, one that had it before it was extended is meant,
// and never continued: it has another recipe now. `data`: the fingerprint of the recipe's data
// where they are prepared already; without it they are looked at where runs differ in theirs.
WhichRun which_run(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                   bool always_new, const std::optional<std::string>& data = std::nullopt);

// Runs of the name, the hash and the origin of what is to be launched, reconciled, the one meant
// first: a recipe alone never means a fork.
std::vector<RunRow> runs_meant(Store& store, const StoreFolder& folder,
                               const LaunchRequest& request,
                               const std::optional<std::string>& data = std::nullopt);

// data_fingerprint() of a recipe, whatever there is to read for it.
using KnownFingerprint = std::function<std::optional<std::string>()>;

// Runs of one recipe, given newest first, the one that it means first: those that were trained on
// the data that it names now before others, and all of them before those without has_folder().
// `data` is asked only where the runs differ in theirs.
std::vector<RunRow> meant_first(const StoreFolder& folder, std::vector<RunRow> runs,
                                const KnownFingerprint& data);

// run.tags make no other run, so they are for the one that is there: adds those of `now` that
// neither the run nor the recipe that is stored with it has. One of that recipe which the run has
// not was removed by its user; of later ones nothing tells. Returns what it has added.
std::vector<std::string> add_new_tags(Store& store, const RunRow& run, const ResolvedRecipe& now);

// The same, aloud.
void add_new_tags_aloud(Store& store, const RunRow& run, const ResolvedRecipe& now);

}  // namespace exprun
