#include "control/launch/known_speed.h"

#include <algorithm>
#include <map>

#include "base/machine/host_name.h"

namespace exprun {
namespace {

using Values = std::map<std::string, std::string>;

const std::string kAuto = "\"auto\"";

bool changes_speed(const std::string& path) {
  for (const char* table : {"model.", "batch.", "precision.", "parallelism."})
    if (path.starts_with(table)) return true;
  return path == "run.device" || path == "run.threads" ||
         (path.starts_with("optimizer.") && path.ends_with("type"));
}

Values values_of(const ResolvedRecipe& recipe) {
  Values values;
  for (auto& [path, text] : recipe.leaves(false))
    if (changes_speed(path)) values.emplace(path, text);
  return values;
}

Values values_of(const std::vector<ParameterRow>& parameters) {
  Values values;
  for (const ParameterRow& parameter : parameters)
    if (changes_speed(parameter.path)) values.emplace(parameter.path, parameter.toml);
  return values;
}

// What only data told is "auto" on one side at most.
bool same_speed(const Values& a, const Values& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first &&
                  (x.second == y.second || x.second == kAuto || y.second == kAuto);
         });
}

std::optional<double> median_speed(const Store& store, int64_t run) {
  for (const SeriesRow& series : store.series(run)) {
    if (series.name != "tokens_per_s") continue;
    std::vector<double> values;
    for (const MetricRow& row : store.metrics(series.id)) values.push_back(row.value);
    if (values.empty()) return std::nullopt;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
  return std::nullopt;
}

}  // namespace

std::optional<KnownSpeed> known_speed(const Store& store, const ResolvedRecipe& recipe) {
  const Values wanted = values_of(recipe);
  const std::string host = host_name();
  for (const RunRow& run : store.runs()) {
    if (run.host != host || !same_speed(wanted, values_of(store.parameters(run.id)))) continue;
    if (const auto speed = median_speed(store, run.id)) return KnownSpeed{*speed, run.folder};
  }
  return std::nullopt;
}

}  // namespace exprun
