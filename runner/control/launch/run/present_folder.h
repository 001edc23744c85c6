// Whether a run's folder is in its store: `exprun merge` copies the records of runs, not their
// checkpoints, data and logs.
#pragma once

#include <optional>
#include <string>

#include "control/launch/store_folder.h"
#include "store/store.h"

namespace exprun {

// Of the run with this folder.
bool has_folder(const StoreFolder& folder, const std::string& run);

// Throws Error that begins with the command and says so where it is not here, and what to do;
// `instead` is that for a folder that was deleted, of who has more to say than
// how_to_start_anew().
void require_run_folder(const StoreFolder& folder, const RunRow& run, const std::string& command,
                        const std::string& instead = "");

// What "@best" means to who needs the folder of the run: the best one whose folder is here. Nothing
// where no folder is.
struct BestHere {
  RunRow run;
  std::string better;   // the folder of the best of all where that is not here; or empty
  size_t datasets = 1;  // on which the runs compared were trained
};
std::optional<BestHere> best_run_here(const Store& store, const StoreFolder& folder);

// Which one it is, and that there is a better one, if there is.
void say_which_is_best(const BestHere& best);

// Where it is as the user would write it, or that it is not here.
std::string shown_folder(const StoreFolder& folder, const std::string& run);

}  // namespace exprun
