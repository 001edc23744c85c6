#include "control/launch/provenance_difference.h"

#include <bit>
#include <map>
#include <nlohmann/json.hpp>

#include "base/number.h"

namespace exprun {
namespace {

using nlohmann::json;
using Facts = std::map<std::string, std::string>;

void add_leaves(Facts& facts, const std::string& path, const json& value) {
  if (!value.is_object()) {
    facts[path] = value.is_string() ? value.get<std::string>() : value.dump();
    return;
  }
  for (const auto& [key, inner] : value.items())
    add_leaves(facts, path.empty() ? key : path + '.' + key, inner);
}

void add_text(Facts& facts, const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  if (object.is_object()) add_leaves(facts, "", object);
}

Facts facts_of(const Store& store, const RunRow& run) {
  Facts facts;
  for (const char* kind : {"environment", "libraries"})
    add_text(facts, store.attempt_text(run.id, run.attempt, kind));
  for (const char* noise : {"command_line", "git_untracked", "config"}) facts.erase(noise);
  facts["exprun"] = run.version;
  facts["git_commit"] = run.git_commit.value_or("none");
  facts["data_fingerprint"] = run.data_fingerprint;
  facts["recipe_hash"] = run.recipe_hash;
  return facts;
}

std::string value_in(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "nothing" : found->second;
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

}  // namespace

std::vector<std::string> provenance_differences(const Store& store, const RunRow& before,
                                                const RunRow& now) {
  const Facts old_facts = facts_of(store, before), new_facts = facts_of(store, now);
  Facts names = old_facts;
  names.insert(new_facts.begin(), new_facts.end());
  std::vector<std::string> lines;
  for (const auto& [name, ignored] : names) {
    const std::string a = value_in(old_facts, name), b = value_in(new_facts, name);
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
