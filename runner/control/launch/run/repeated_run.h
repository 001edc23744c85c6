// Whether `exprun rerun` can repeat a run: a fork begins with the checkpoint of its origin again,
// which may be gone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/launch/store_folder.h"
#include "store/rows.h"
#include "store/store.h"

namespace exprun {

// Of which `key` is this: run_with(store, &RunRow::uid, origin.uid). A removed one too, until it is
// deleted.
std::optional<RunRow> run_with(const Store& store, std::string RunRow::*key,
                               const std::string& value);

// "is a fork of step 20 of base-1a2b3c4d, which is not in this store any more, so it cannot be
// repeated", and what can be done instead where something can; empty for a run that can be
// repeated.
std::string why_not_repeated(const StoreFolder& folder, const RunRow& run);

// "`exprun rerun mine-1a2b3c4d lr=1e-4` trains it again", or "it is a fork of ..." where it cannot
// be repeated. Of the run with this folder.
std::string how_to_train_again(const StoreFolder& folder, const std::string& run,
                               const std::vector<std::string>& changes = {});

}  // namespace exprun
