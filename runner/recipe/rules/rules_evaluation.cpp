#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "recipe/series.h"
#include "recipe/validate/unknown_key.h"

namespace exprun {

void series_are_measured_once(const RuleInput& input, Diagnostics& diagnostics) {
  const auto measured = measured_series(input.schemas, input.root).series;
  for (auto second = measured.begin(); second != measured.end(); ++second) {
    const auto first = std::find_if(measured.begin(), second, [&](const MeasuredSeries& earlier) {
      return earlier.name == second->name;
    });
    if (first == second) continue;
    diagnostics.push_back(tolerable(
        {place_of(input.root, join_path(second->path, "type")),
         "[" + second->path + "] measures " + second->name + ", as [" + first->path + "] does",
         "a step has one value of a series: take one of the tables away"}));
  }
}

void best_metric_is_measured(const RuleInput& input, Diagnostics& diagnostics) {
  const auto metric = text_at(input.root, "run.best_metric");
  const bool stops = find_path(input.root, "run.early_stop") != nullptr;
  // The default, written or not, means nothing where nothing is measured.
  const bool chosen = metric && *metric != input.schemas.find("run")
                                               ->at("properties")
                                               .at("best_metric")
                                               .at("default")
                                               .get<std::string>();
  const Measured measured = measured_series(input.schemas, input.root);
  if (!metric || measured.is_uncertain || (!stops && !chosen) || measured.has(*metric)) return;
  if (chosen)
    diagnostics.push_back(tolerable({place_of(input.root, "run.best_metric"),
                                     "no evaluation measures '" + *metric + "'",
                                     help_for_series(*metric, measured.names())}));
  else
    diagnostics.push_back(
        tolerable({place_of(input.root, "run.early_stop"),
                   "'early_stop' has nothing to look at: no evaluation measures '" + *metric + "'",
                   help_for_series(*metric, measured.names())}));
}

}  // namespace exprun
