#include "control/launch/provenance_difference.h"

#include <bit>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/number.h"

namespace exprun {
namespace {

using nlohmann::json;
using Details = std::map<std::string, std::string>;

void add_leaves(Details& details, const std::string& path, const json& value) {
  if (!value.is_object()) {
    details[path] = value.is_string() ? value.get<std::string>() : json_text(value);
    return;
  }
  for (const auto& [key, inner] : value.items())
    add_leaves(details, path.empty() ? key : path + '.' + key, inner);
}

void add_text(Details& details, const std::string& text) {
  const json object = parse_json_or_discard<json>(text);
  if (object.is_object()) add_leaves(details, "", object);
}

Details details_of(const Store& store, const RunRow& run) {
  Details details;
  for (const char* kind : {"environment", "libraries"})
    add_text(details, store.attempt_text(run.id, run.attempt, kind));
  for (const char* noise :
       {"command_line", "git_untracked", "config", "environment.TORCHELASTIC_ERROR_FILE"})
    details.erase(noise);
  details["exprun"] = run.version;
  details["git_commit"] = run.git_commit.value_or("none");
  details["data_fingerprint"] = run.data_fingerprint;
  for (const ParameterRow& parameter : store.parameters(run.id))
    details[parameter.path] = parameter.toml;
  return details;
}

std::string value_in(const Details& details, const std::string& name) {
  const auto found = details.find(name);
  return found == details.end() ? "nothing" : found->second;
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

}  // namespace

std::vector<std::string> provenance_differences(const Store& store, const RunRow& before,
                                                const RunRow& now) {
  const Details old_details = details_of(store, before), new_details = details_of(store, now);
  Details names = old_details;
  names.insert(new_details.begin(), new_details.end());
  std::vector<std::string> lines;
  for (const auto& [name, ignored] : names) {
    const std::string a = value_in(old_details, name), b = value_in(new_details, name);
    if (a != b) lines.push_back(name + ": " + a + " -> " + b);
  }
  const auto diff = [&](const RunRow& run) {
    return store.attempt_text(run.id, run.attempt, "diff");
  };
  if (diff(before) != diff(now))
    lines.push_back("uncommitted changes: exprun show RUN --git-diff prints those of each run");
  return lines;
}

std::vector<std::string> result_differences(const Store& store, const RunRow& before,
                                            const RunRow& now) {
  std::map<std::string, SeriesRow> old_series;
  for (const SeriesRow& row : store.series(before.id)) old_series[row.name] = row;
  std::vector<std::string> lines;
  for (const SeriesRow& row : store.series(now.id)) {
    const auto old = old_series.find(row.name);
    if (row.timing || row.count == 0 || old == old_series.end() || old->second.count == 0) continue;
    const std::string what =
        row.name + ": " + shortest(row.last) + " at step " + std::to_string(row.last_step);
    const bool same =
        same_bits(row.last, old->second.last) && row.last_step == old->second.last_step;
    lines.push_back(what + (same ? ", as before"
                                 : " (was " + shortest(old->second.last) + " at step " +
                                       std::to_string(old->second.last_step) + ")"));
  }
  return lines;
}

}  // namespace exprun
