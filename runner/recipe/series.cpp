#include "recipe/series.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

std::vector<std::string> series_of(const Schema& schema) {
  return schema.value("x-series", std::vector<std::string>());
}

// "{name}/acc" of the table [evaluation.piqa] is "piqa/acc".
std::string named(std::string series, const std::string& table) {
  constexpr std::string_view kName = "{name}";
  if (series.starts_with(kName)) series.replace(0, kName.size(), table);
  return series;
}

}  // namespace

bool Measured::has(const std::string& name) const {
  return std::any_of(series.begin(), series.end(),
                     [&](const MeasuredSeries& measured) { return measured.name == name; });
}

std::vector<std::string> Measured::names() const {
  std::vector<std::string> names;
  for (const MeasuredSeries& measured : series) names.push_back(measured.name);
  return names;
}

Measured measured_series(const SchemaSet& schemas, const Table& root) {
  Measured measured;
  const Value* evaluation = root.find("evaluation");
  if (evaluation == nullptr) return measured;
  const Table* table = evaluation->as<Table>();
  measured.is_uncertain = evaluation->is_invalid || table == nullptr;
  if (table == nullptr) return measured;
  for (const Entry& entry : table->entries()) {
    const std::string path = join_path("evaluation", entry.key);
    const auto type = text_at(root, join_path(path, "type"));
    const Schema* schema = type ? schemas.find("evaluation", *type) : nullptr;
    measured.is_uncertain = measured.is_uncertain || entry.value.is_invalid || schema == nullptr;
    if (schema == nullptr) continue;
    for (const std::string& name : series_of(*schema))
      measured.series.push_back({named(name, entry.key), path});
  }
  return measured;
}

bool is_measured_by(const SchemaSet& schemas, const std::string& type, const std::string& table,
                    const std::string& series) {
  const std::vector<std::string> measured = series_of(*schemas.find("evaluation", type));
  return std::any_of(measured.begin(), measured.end(),
                     [&](const std::string& name) { return named(name, table) == series; });
}

bool is_recorded_always(const SchemaSet& schemas, const std::string& name) {
  const std::vector<std::string> recorded = series_of(*schemas.find("metrics"));
  return std::any_of(recorded.begin(), recorded.end(), [&](const std::string& series) {
    return name == series || (series.ends_with('/') && name.starts_with(series));
  });
}

std::optional<bool> larger_is_better(std::string_view series) {
  const std::string_view last = series.substr(series.rfind('/') + 1);
  const auto has = [&](std::string_view word) { return last.find(word) != last.npos; };
  for (const char* word : {"acc", "score", "f1", "bleu", "mfu", "per_second", "reward"})
    if (has(word)) return true;
  if (last.ends_with("per_s")) return true;
  for (const char* word : {"loss", "perplexity", "ppl", "bits_per", "error"})
    if (has(word)) return false;
  return std::nullopt;
}

bool is_independent_of_training_data(std::string_view series) {
  return larger_is_better(series) == true || series.ends_with("/bits_per_byte");
}

std::string key_asking_for_best_metric(const SchemaSet& schemas, const Table& root) {
  constexpr const char *kMetric = "run.best_metric", *kStops = "run.early_stop";
  const Schema& known = schemas.find("run")->at("properties").at(last_part(kMetric));
  const auto metric = text_at(root, kMetric);
  if (metric && *metric != known.at("default").get<std::string>()) return kMetric;
  return find_path(root, kStops) ? kStops : "";
}

std::string help_for_series(const std::string& name, std::vector<std::string> there) {
  std::set<std::string> seen;
  std::erase_if(there, [&](const std::string& each) { return !seen.insert(each).second; });
  if (there.empty()) return "add an evaluation, such as [evaluation.val_loss]";
  if (const auto near = nearest(name, there)) return "did you mean '" + *near + "'?";
  return (there.size() == 1 ? "evaluations measure only " : "evaluations measure ") + listed(there);
}

}  // namespace exprun
