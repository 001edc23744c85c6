#include "control/command/stored/recorded_evaluations.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "recipe/key_path.h"
#include "recipe/series.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

constexpr const char* kSettingsEvent = "evaluation";
const std::string kTable = "evaluation.";

using Settings = std::map<std::string, std::string>;  // TOML by key

// What one evaluation measures, and with what.
struct Measurement {
  std::vector<std::string> series;  // "eval/perplexity/loss", "eval/NAME/perplexity/loss"
  Settings settings;
};

std::string or_none(const std::string& value) {
  return value.empty() ? "none" : value;
}

// A value of a run's evaluation.
struct Told {
  const std::string& toml;
  const RunRow& run;

  // Where it is a path, as it is from `folder`.
  std::filesystem::path from(const std::filesystem::path& folder) const {
    return (folder / *toml_unquoted(toml)).lexically_normal();
  }
};

// Whether two values of a key say the same. Paths do if they are written alike, "./a.txt" like
// "a.txt", and if they name one file from the working directories of their runs.
bool say_the_same(const std::string& key, const Told& a, const Told& b) {
  if (a.toml == b.toml) return true;
  if (key != "path" || !toml_unquoted(a.toml) || !toml_unquoted(b.toml)) return false;
  return a.from("") == b.from("") ||
         a.from(a.run.working_directory) == b.from(b.run.working_directory);
}

// What makes results other quantities than those of the run's own evaluations: "" if nothing does.
// Additional evaluations do not.
std::string changed_evaluations(const RunRow& run, const Evaluated& evaluated) {
  std::string text;
  for (const Difference& difference : differences(evaluated.own, evaluated.now)) {
    const std::string& path = difference.path;
    const std::string table = path.substr(0, path.find('.', kTable.size()));
    if (!path.starts_with(kTable) || !evaluated.own.find(table) || !evaluated.now.find(table))
      continue;
    if (path.ends_with(".every")) continue;  // it is evaluated now
    if (say_the_same(last_part(path), {difference.a, run}, {difference.b, run})) continue;
    text += (text.empty() ? "" : ", ") + path + " " + or_none(difference.a) + " -> " +
            or_none(difference.b);
  }
  return text;
}

Settings settings_below(const ResolvedRecipe& recipe, const std::string& table) {
  Settings settings;
  for (const auto& [path, value] : recipe.leaves(false))
    if (path.starts_with(table + '.') && !path.ends_with(".every"))
      settings[path.substr(table.size() + 1)] = value;
  return settings;
}

// Of the evaluations that the run's recipe does not tell.
std::vector<Measurement> measurements_to_record(const Evaluated& evaluated) {
  std::map<std::string, Measurement> by_table;
  const std::string prefix = "eval/" + (evaluated.name.empty() ? "" : evaluated.name + "/");
  for (const MeasuredSeries& measured :
       measured_series(evaluated.now.schemas(), evaluated.now.root()).series)
    if (!evaluated.name.empty() || !evaluated.own.find(measured.path))
      by_table[measured.path].series.push_back(prefix + measured.name);
  std::vector<Measurement> measurements;
  for (auto& [table, measurement] : by_table) {
    measurement.settings = settings_below(evaluated.now, table);
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

std::string text_of(const Measurement& measurement) {
  return nlohmann::json{{"series", measurement.series}, {"settings", measurement.settings}}.dump();
}

// Nothing of another event, or of one that was not written here.
std::optional<Measurement> measurement_of(const EventRow& event) {
  if (event.kind != kSettingsEvent) return std::nullopt;
  const auto json = parse_json_or_discard<nlohmann::json>(event.text);
  const auto has = [&](const char* key, nlohmann::json::value_t type) {
    return json.contains(key) && json[key].type() == type &&
           std::all_of(json[key].begin(), json[key].end(),
                       [](const nlohmann::json& one) { return one.is_string(); });
  };
  using Type = nlohmann::json::value_t;
  if (!json.is_object() || !has("series", Type::array) || !has("settings", Type::object))
    return std::nullopt;
  return Measurement{json["series"], json["settings"]};
}

// "" if they say the same.
std::string differences_of(const Settings& there, const RunRow& run_there, const Settings& here,
                           const RunRow& run_here) {
  Settings all = there;
  all.insert(here.begin(), here.end());
  std::string text;
  for (const auto& [key, ignored] : all) {
    const auto value_in = [&, &key = key](const Settings& settings) {
      const auto found = settings.find(key);
      return found == settings.end() ? "none" : found->second;
    };
    const std::string of_there = value_in(there), of_here = value_in(here);
    if (say_the_same(key, {of_there, run_there}, {of_here, run_here})) continue;
    text += (text.empty() ? "" : ", ") + key + " is " + of_there + " there, " + of_here + " here";
  }
  return text;
}

// "eval/perplexity/loss of char-1a2b3c4d has other settings (...)"; "" if the store has no results
// of these names that were measured otherwise.
std::string conflict(const Store& store, const RunRow& measured,
                     const std::vector<Measurement>& measurements) {
  if (measurements.empty()) return "";  // every run would be read for nothing
  for (const RunRow& run : store.runs()) {
    for (const EventRow& event : store.events(run.id)) {
      const auto there = measurement_of(event);
      if (!there) continue;
      for (const Measurement& here : measurements) {
        const auto same = std::ranges::find_first_of(here.series, there->series);
        if (same == here.series.end()) continue;
        const std::string different = differences_of(there->settings, run, here.settings, measured);
        if (!different.empty())
          return *same + " of " + run.folder + " has other settings (" + different + ")";
      }
    }
  }
  return "";
}

void record_measurement(Store& store, const RunRow& run, const Measurement& measurement) {
  for (const EventRow& event : store.events(run.id))
    if (const auto known = measurement_of(event);
        known && known->series == measurement.series &&
        differences_of(known->settings, run, measurement.settings, run).empty())
      return;
  store.record_event({run.id, 0, "info", kSettingsEvent, text_of(measurement)});
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

std::string why_not_recorded(const Store& store, const RunRow& run, const Evaluated& evaluated) {
  if (measured_series(evaluated.now.schemas(), evaluated.now.root()).series.empty()) return "";
  const bool has_name = !evaluated.name.empty();
  const std::string changed = has_name ? "" : changed_evaluations(run, evaluated);
  if (!changed.empty())
    return "the settings are not the run's (" + changed +
           "); to record the results as eval/NAME/METRIC, add --as NAME";
  const std::string other = conflict(store, run, measurements_to_record(evaluated));
  if (other.empty()) return "";
  return other + "; to record the results as " +
         (has_name ? "other metrics, choose another name for --as"
                   : "eval/NAME/METRIC, add --as NAME");
}

void record_evaluations(Store& store, const RunRow& run, const Evaluated& evaluated,
                        const nlohmann::ordered_json& results) {
  const std::string& name = evaluated.name;
  std::map<std::string, double> metrics;
  for (const auto& [metric, value] : results.at("metrics").items())
    metrics[(name.empty() ? "" : name + "/") + metric] =
        value.is_number() ? value.get<double>() : std::nan("");
  if (metrics.empty()) return;
  if (const std::string why = why_not_recorded(store, run, evaluated); !why.empty())
    return log_warning("eval: not recorded, because " + why);
  const auto step = results.at("step").get<int64_t>();
  say_what_is_replaced(store, run, step, metrics);
  for (const Measurement& measurement : measurements_to_record(evaluated))
    record_measurement(store, run, measurement);
  store.record_evaluation(run.id, step, metrics);
  for (const auto& [metric, value] : metrics) log_info("eval: recorded eval/" + metric);
}

}  // namespace exprun
