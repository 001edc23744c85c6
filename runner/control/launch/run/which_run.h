// Which run a plain `exprun RECIPE` means, and what is to be done with it.
#pragma once

#include <optional>
#include <vector>

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
// and never continued: it has another recipe now.
WhichRun which_run(Store& store, const LaunchRequest& request, bool always_new);

// Runs of the name, the hash and the origin of what is to be launched, reconciled, newest first: a
// recipe alone never means a fork. present_first() of them.
std::vector<RunRow> runs_meant(Store& store, const LaunchRequest& request);

// After all others those whose folder is not here: runs that were merged from another store, or
// whose folder was deleted.
std::vector<RunRow> present_first(const Store& store, std::vector<RunRow> runs);

}  // namespace exprun
