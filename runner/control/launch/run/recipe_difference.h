// What a run does otherwise than another, by the keys of their recipes and by their data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/launch/store_folder.h"
#include "recipe/resolved.h"
#include "store/rows.h"
#include "store/store.h"
#include "text/prepared_data.h"

namespace exprun {

// Of the keys that one of the two changed, those that differ: what follows from them, as derived
// values do, is none.
std::vector<Difference> changed_parameters(const std::vector<ParameterRow>& before,
                                           const std::vector<ParameterRow>& now);

// "optimizer.lr: 0.0003 (was 0.001)", of changed_parameters(). Empty where there are none.
std::string differing_parameters(const std::vector<ParameterRow>& now,
                                 const std::vector<ParameterRow>& before);

// "new run; differs from quickstart-1a2b3c4d: optimizer.lr: 0.0003 (was 0.001)", or that it has the
// same settings. `data` is the data_difference().
std::string describe_difference(const std::vector<ParameterRow>& now,
                                const std::vector<ParameterRow>& before, const std::string& run,
                                const std::string& data);

struct KnownDifference {
  std::string text;          // as describe_difference(); empty if there is no such run
  bool data_differ = false;  // their files do, which no key tells
};

// That from `source`, else from the newest run of its name on the same data, else from the newest.
KnownDifference difference_from_known(const Store& store, const StoreFolder& folder,
                                      const ResolvedRecipe& resolved, const PreparedData& data,
                                      std::optional<RunRow> source);

}  // namespace exprun
