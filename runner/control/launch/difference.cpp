#include "control/launch/difference.h"

#include <algorithm>
#include <map>

namespace exprun {
namespace {

constexpr size_t kMostNamed = 4;
using Values = std::vector<std::pair<std::string, std::string>>;

std::string value_in(const std::map<std::string, std::string>& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? "not set" : found->second;
}

Values paths_first_seen(const Values& now, const Values& before) {
  Values all = now;
  for (const auto& entry : before)
    if (std::none_of(now.begin(), now.end(),
                     [&](auto& other) { return other.first == entry.first; }))
      all.push_back(entry);
  return all;
}

// As resolved.leaves(true) gives them.
Values changed_values(const std::vector<ParameterRow>& parameters) {
  Values values;
  for (const auto& [path, toml, changed] : parameters)
    if (changed) values.emplace_back(path, toml);
  return values;
}

}  // namespace

std::string describe_difference(const Values& now, const Values& before, const std::string& run) {
  const std::map<std::string, std::string> a(now.begin(), now.end());
  const std::map<std::string, std::string> b(before.begin(), before.end());
  std::string text;
  size_t different = 0;
  for (const auto& [path, ignored] : paths_first_seen(now, before)) {
    const std::string value = value_in(a, path), old = value_in(b, path);
    if (value == old || ++different > kMostNamed) continue;
    text += (text.empty() ? "" : ", ") + path + ": " + value + " (was " + old + ")";
  }
  if (different > kMostNamed) text += " and " + std::to_string(different - kMostNamed) + " more";
  if (text.empty()) return "new run, with the same settings as " + run;
  return "new run; against " + run + ": " + text;
}

std::string difference_from_newest(const Store& store, const ResolvedRecipe& resolved) {
  const auto runs = store.runs(resolved.section("run").get<std::string>("name"));
  if (runs.empty()) return "";
  return describe_difference(resolved.leaves(true),
                             changed_values(store.parameters(runs.front().id)),
                             runs.front().folder);
}

}  // namespace exprun
