#include "control/report/compare/run_differences.h"

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files/file.h"
#include "base/files/run_folder.h"
#include "base/format_units.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/strings.h"

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

// "37 lines (1a2b3c4d)"
std::string described_changes(const std::string& diff) {
  return pluralize(std::count(diff.begin(), diff.end(), '\n'), "line") + " (" +
         hash_hex(diff).substr(0, 8) + ")";
}

// By what they compute and for which shapes. None of a run that chose none (run.deterministic, a
// GPU) or made no step, and where its folder is not here.
Details kernels_of(const Store& store, const RunRow& run) {
  Details kernels;
  const auto file = RunFolder{folder_of(store.file()) / run.folder}.kernels();
  if (file_exists(file)) add_text(kernels, read_file(file));
  return kernels;
}

bool share_a_shape(const std::vector<Details>& kernels) {
  return std::ranges::any_of(kernels.front(), [&](const auto& first) {
    return std::ranges::all_of(kernels,
                               [&](const Details& each) { return each.contains(first.first); });
  });
}

// Those for shapes that two runs chose differently: other kernels give results that differ in the
// last bits. A shape that one run alone has tells nothing.
void add_kernels(std::vector<Details>& details, const std::vector<Details>& kernels) {
  std::map<std::string, std::set<std::string>> chosen;  // for each shape
  for (const Details& each : kernels)
    for (const auto& [shape, kernel] : each) chosen[shape].insert(kernel);
  for (size_t i = 0; i < kernels.size(); ++i)
    for (const auto& [shape, kernel] : kernels[i])
      if (chosen[shape].size() > 1) details[i]["kernel." + shape] = kernel;
}

Details details_of(const Store& store, const RunRow& run) {
  Details details;
  for (const char* kind : {"environment", "libraries"})
    add_text(details, store.attempt_text(run.id, run.attempt, kind));
  for (const char* noise : {"command_line", "git_untracked", "git_untracked_is_cut", "config",
                            "environment.TORCHELASTIC_ERROR_FILE"})
    details.erase(noise);
  details["exprun"] = run.version;
  if (run.git_commit) details["git_commit"] = *run.git_commit;
  const std::string changes = store.attempt_text(run.id, run.attempt, "diff");
  if (!changes.empty()) details["uncommitted_changes"] = described_changes(changes);
  details["data_fingerprint"] = run.data_fingerprint;
  return details;
}

std::vector<DifferentValue> what_differs(const std::vector<Details>& runs) {
  std::set<std::string> names;
  for (const Details& run : runs)
    for (const auto& [name, value] : run) names.insert(name);
  std::vector<DifferentValue> different;
  for (const std::string& name : names) {
    DifferentValue each{name, {}};
    for (const Details& run : runs) {
      const auto found = run.find(name);
      each.values.push_back(found == run.end() ? std::nullopt : std::optional(found->second));
    }
    const auto is_other = [&](const auto& value) { return value != each.values.front(); };
    if (std::any_of(each.values.begin(), each.values.end(), is_other))
      different.push_back(std::move(each));
  }
  return different;
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

struct ValueInBoth {
  int64_t step;
  double value, before;
};

// At the last step at which both have one: either may have ended early.
std::optional<ValueInBoth> last_in_both(const Store& store, const SeriesRow& now,
                                        const SeriesRow& before) {
  if (now.last_step == before.last_step) return ValueInBoth{now.last_step, now.last, before.last};
  const auto known = store.metrics(before.id);
  std::map<int64_t, double> values;
  for (const MetricRow& row : known) values[row.step] = row.value;
  std::optional<ValueInBoth> last;
  for (const MetricRow& row : store.metrics(now.id))
    if (const auto old = values.find(row.step); old != values.end())
      last = ValueInBoth{row.step, row.value, old->second};
  return last;
}

}  // namespace

std::vector<DifferentValue> different_parameters(const Store& store,
                                                 const std::vector<RunRow>& runs) {
  std::vector<Details> details;
  for (const RunRow& run : runs) {
    Details& parameters = details.emplace_back();
    for (const ParameterRow& parameter : store.parameters(run.id))
      parameters[parameter.path] = parameter.toml;
  }
  return what_differs(details);
}

Circumstances compared_circumstances(const Store& store, const std::vector<RunRow>& runs) {
  std::vector<Details> details, kernels;
  for (const RunRow& run : runs) {
    details.push_back(details_of(store, run));
    kernels.push_back(kernels_of(store, run));
  }
  add_kernels(details, kernels);
  return {share_a_shape(kernels) ? "code, machine, libraries, data, environment and kernels"
                                 : "code, machine, libraries, data and environment",
          what_differs(details)};
}

std::vector<std::string> result_differences(const Store& store, const RunRow& before,
                                            const RunRow& now) {
  std::map<std::string, SeriesRow> old_series;
  for (const SeriesRow& row : store.series(before.id)) old_series[row.name] = row;
  std::vector<std::string> lines;
  for (const SeriesRow& row : store.series(now.id)) {
    const auto old = old_series.find(row.name);
    if (row.timing || row.count == 0 || old == old_series.end() || old->second.count == 0) continue;
    const auto both = last_in_both(store, row, old->second);
    if (!both) {
      lines.push_back(row.name + ": no step has a value in both");
      continue;
    }
    lines.push_back(
        row.name + ": " + shortest(both->value) + " at step " + std::to_string(both->step) +
        (same_bits(both->value, both->before) ? ", as before"
                                              : " (was " + shortest(both->before) + ")"));
  }
  return lines;
}

}  // namespace exprun
