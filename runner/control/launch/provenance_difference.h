// What was different when a recipe was run again, and what came of it.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace exprun {

// "cpu: A -> B", a line each: code, machine, libraries, data, environment; of the last attempts.
std::vector<std::string> provenance_differences(const Store& store, const RunRow& before,
                                                const RunRow& now);

// "val/loss: 1.91 at step 300, as before", "train/loss: 2.1 (was 2.2)", for every series but
// timings: equal means equal to the bit.
std::vector<std::string> result_differences(const Store& store, const RunRow& before,
                                            const RunRow& now);

}  // namespace exprun
