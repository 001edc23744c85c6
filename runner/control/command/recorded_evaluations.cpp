#include "control/command/recorded_evaluations.h"

#include <cmath>
#include <map>

#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"

namespace exprun {
namespace {

constexpr const char* kSettingsEvent = "evaluation";
const std::string kTable = "evaluation.";

using Settings = std::map<std::string, std::string>;       // TOML by key
using SettingsOfTables = std::map<std::string, Settings>;  // by "eval/perplexity", "eval/NAME/..."

std::string or_none(const std::string& value) {
  return value.empty() ? "none" : value;
}

// What makes results other quantities than those of the run's own evaluations: "" if nothing does.
// Additional evaluations do not.
std::string changed_evaluations(const Evaluated& evaluated) {
  std::string text;
  for (const Difference& difference : differences(evaluated.own, evaluated.now)) {
    const std::string& path = difference.path;
    const std::string table = path.substr(0, path.find('.', kTable.size()));
    if (!path.starts_with(kTable) || !evaluated.own.find(table) || !evaluated.now.find(table))
      continue;
    if (path.ends_with(".every")) continue;  // it is evaluated now
    text += (text.empty() ? "" : ", ") + path + " " + or_none(difference.a) + " -> " +
            or_none(difference.b);
  }
  return text;
}

// Of the evaluations that the run's recipe does not tell.
SettingsOfTables settings_to_record(const Evaluated& evaluated) {
  SettingsOfTables settings;
  const std::string prefix = "eval/" + (evaluated.name.empty() ? "" : evaluated.name + "/");
  for (const auto& [path, value] : evaluated.now.leaves(false)) {
    if (!path.starts_with(kTable) || path.ends_with(".every")) continue;
    const size_t end = path.find('.', kTable.size());
    const bool is_own = evaluated.own.find(path.substr(0, end)) != nullptr;
    if (evaluated.name.empty() && is_own) continue;
    const std::string table = path.substr(kTable.size(), end - kTable.size());
    settings[prefix + table][path.substr(end + 1)] = value;
  }
  return settings;
}

std::string differences_of(const Settings& there, const Settings& here) {
  Settings all = there;
  all.insert(here.begin(), here.end());
  std::string text;
  for (const auto& [key, ignored] : all) {
    const auto value_in = [&, &key = key](const Settings& settings) {
      const auto found = settings.find(key);
      return found == settings.end() ? "none" : found->second;
    };
    if (value_in(there) == value_in(here)) continue;
    text += (text.empty() ? "" : ", ") + key + " is " + value_in(there) + " there, " +
            value_in(here) + " here";
  }
  return text;
}

// "eval/perplexity of char-1a2b3c4d has other settings: ..."; "" if no run of the store has results
// of other settings under these names.
std::string conflict(const Store& store, const SettingsOfTables& settings) {
  for (const RunRow& run : store.runs()) {
    for (const EventRow& event : store.events(run.id)) {
      if (event.kind != kSettingsEvent) continue;
      const auto recorded = parse_json_or_discard<nlohmann::json>(event.text);
      if (!recorded.is_object()) continue;
      for (const auto& [table, values] : recorded.get<SettingsOfTables>()) {
        const auto here = settings.find(table);
        if (here == settings.end() || here->second == values) continue;
        return table + " of " + run.folder + " has other settings (" +
               differences_of(values, here->second) + ")";
      }
    }
  }
  return "";
}

void record_settings(Store& store, const RunRow& run, const SettingsOfTables& settings) {
  const std::string text = nlohmann::json(settings).dump();
  for (const EventRow& event : store.events(run.id))
    if (event.kind == kSettingsEvent && event.text == text) return;
  if (!settings.empty()) store.record_event({run.id, 0, "info", kSettingsEvent, text});
}

// An earlier result of the same step: of edited data, or of another build.
void say_what_is_replaced(const Store& store, const RunRow& run, int64_t step,
                          const std::map<std::string, double>& metrics) {
  for (const auto& [metric, value] : metrics) {
    const auto before = store.values_at("eval/" + metric, step);
    const auto known = before.find(run.id);
    if (known == before.end()) continue;
    const bool same = known->second == value || (std::isnan(known->second) && std::isnan(value));
    if (same) continue;
    log_warning("eval: eval/" + metric + " of step " + std::to_string(step) + " was recorded as " +
                shortest(known->second) + " before, and is now " + shortest(value));
  }
}

}  // namespace

void record_evaluations(Store& store, const RunRow& run, const Evaluated& evaluated,
                        const nlohmann::ordered_json& results) {
  const std::string& name = evaluated.name;
  std::map<std::string, double> metrics;
  for (const auto& [metric, value] : results.at("metrics").items())
    metrics[(name.empty() ? "" : name + "/") + metric] =
        value.is_number() ? value.get<double>() : std::nan("");
  if (metrics.empty()) return;
  const std::string changed = name.empty() ? changed_evaluations(evaluated) : "";
  if (!changed.empty())
    return log_info("eval: not recorded, because the settings are not the run's (" + changed +
                    "); to record the results as eval/NAME/METRIC, add --as NAME");
  const SettingsOfTables settings = settings_to_record(evaluated);
  if (const std::string other = conflict(store, settings); !other.empty())
    return log_warning("eval: not recorded, because " + other + "; to record the results as " +
                       (name.empty() ? "eval/NAME/METRIC, add --as NAME"
                                     : "other metrics, choose another name for --as"));
  const auto step = results.at("step").get<int64_t>();
  say_what_is_replaced(store, run, step, metrics);
  store.record_evaluation(run.id, step, metrics);
  record_settings(store, run, settings);
  if (name.empty()) return;
  for (const auto& [metric, value] : metrics) log_info("eval: recorded eval/" + metric);
}

}  // namespace exprun
