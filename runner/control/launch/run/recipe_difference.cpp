#include "control/launch/run/recipe_difference.h"

#include <algorithm>
#include <utility>

#include "control/launch/run/new_run.h"
#include "control/launch/run/run_data.h"

namespace exprun {
namespace {

constexpr size_t kMostNamed = 4;
using Parameters = std::vector<ParameterRow>;

std::string value_in(const Parameters& parameters, const std::string& path) {
  for (const ParameterRow& parameter : parameters)
    if (parameter.path == path) return parameter.toml;
  return "";
}

std::vector<std::string> changed_in_either(const Parameters& now, const Parameters& before) {
  std::vector<std::string> paths;
  for (const Parameters* parameters : {&now, &before})
    for (const auto& [path, toml, changed] : *parameters)
      if (changed && std::find(paths.begin(), paths.end(), path) == paths.end())
        paths.push_back(path);
  return paths;
}

// The run among these, the newest first, that a new one on this data is compared with; none if
// there are none. A trial's settings are not those that one had in mind; of other runs, the newest
// on the same data says more than a newer one on data that was replaced since.
std::optional<RunRow> compared_run(const std::vector<RunRow>& runs, const PreparedData& data) {
  const auto found = std::ranges::min_element(runs, {}, [&](const RunRow& run) {
    return std::pair(run.sweep_id.has_value(), run.data_fingerprint != data.fingerprint);
  });
  return found == runs.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::vector<Difference> changed_parameters(const Parameters& before, const Parameters& now) {
  std::vector<Difference> changes;
  for (const std::string& path : changed_in_either(now, before)) {
    Difference change{path, value_in(before, path), value_in(now, path)};
    if (change.a != change.b) changes.push_back(std::move(change));
  }
  return changes;
}

std::string differing_parameters(const Parameters& now, const Parameters& before) {
  const auto changes = changed_parameters(before, now);
  std::string text;
  for (size_t i = 0; i < std::min(changes.size(), kMostNamed); ++i)
    text += (text.empty() ? "" : ", ") + changes[i].path + ": " + set_or_not(changes[i].b) +
            " (was " + set_or_not(changes[i].a) + ")";
  if (changes.size() > kMostNamed)
    text += " and " + std::to_string(changes.size() - kMostNamed) + " more";
  return text;
}

std::string describe_difference(const Parameters& now, const Parameters& before,
                                const std::string& run, const std::string& data) {
  std::string text = differing_parameters(now, before);
  if (!data.empty()) text += (text.empty() ? "data: " : ", data: ") + data;
  if (text.empty()) return "new run, with the same settings as " + run;
  return "new run; differs from " + run + ": " + text;
}

KnownDifference difference_from_known(const Store& store, const StoreFolder& folder,
                                      const ResolvedRecipe& resolved, const PreparedData& data,
                                      std::optional<RunRow> source) {
  if (!source)
    source = compared_run(store.runs(resolved.section("run").get<std::string>("name")), data);
  if (!source) return {};
  const Parameters now = parameter_rows(resolved), before = store.parameters(source->id);
  const bool keys_of_data_differ = std::ranges::any_of(
      changed_parameters(before, now),
      [](const Difference& change) { return change.path.starts_with("dataset."); });
  const std::string of_data =
      data_difference(data, *source, folder.run(source->folder), keys_of_data_differ);
  return {describe_difference(now, before, source->folder, of_data), !of_data.empty()};
}

}  // namespace exprun
