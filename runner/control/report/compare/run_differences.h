// What tells runs apart, and what came of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/rows.h"
#include "store/store.h"

namespace exprun {

struct DifferentValue {
  std::string name;                                // "cpu", "environment.OMP_NUM_THREADS"
  std::vector<std::optional<std::string>> values;  // one for each run; nothing where it has none
};

// Parameters, by path, as TOML text.
std::vector<DifferentValue> different_parameters(const Store& store,
                                                 const std::vector<RunRow>& runs);

struct Circumstances {
  std::string compared;  // "code, machine, libraries, data, environment and kernels"
  std::vector<DifferentValue> different;
};

// Of the last attempts: the code, the machine, libraries, data, the environment, and the kernels
// that two runs chose for the same shape. Kernels are named among what was compared only where all
// runs have some for one shape at least. Uncommitted changes are said as their number of lines and
// a hash.
Circumstances compared_circumstances(const Store& store, const std::vector<RunRow>& runs);

// "val/loss: 1.91 at step 300, as before", "train/loss: 2.1 (was 2.2)", for every series but
// timings: equal means equal to the bit.
std::vector<std::string> result_differences(const Store& store, const RunRow& before,
                                            const RunRow& now);

}  // namespace exprun
