#include "control/report/run_json.h"

#include <cmath>

#include "base/number.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

template <typename Value>
ordered_json optional_json(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

// JSON has no word for what is not finite.
ordered_json number_json(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(shortest(value));
}

ordered_json run_json(const RunRow& run, const std::string& folder) {
  return {{"id", run.id},
          {"uid", run.uid},
          {"name", run.name},
          {"state", to_string(run.state)},
          {"message", run.message},
          {"exit_code", optional_json(run.exit_code)},
          {"signal", optional_json(run.signal)},
          {"step", run.last_step},
          {"steps", run.steps},
          {"seed", run.seed},
          {"folder", folder},
          {"working_directory", run.working_directory},
          {"command_line", run.command_line},
          {"recipe_hash", run.recipe_hash},
          {"data_fingerprint", run.data_fingerprint},
          {"started_ms", run.started_ms},
          {"ended_ms", optional_json(run.ended_ms)},
          {"seconds", run.seconds},
          {"tags", run.tags},
          {"version", run.version},
          {"git_commit", optional_json(run.git_commit)},
          {"git_dirty", optional_json(run.git_dirty)},
          {"host", run.host},
          {"pid", run.pid},
          {"last_beat_ms", run.last_beat_ms},
          {"sweep", optional_json(run.sweep_id)},
          {"trial", optional_json(run.trial)}};
}

ordered_json series_json(const SeriesRow& row) {
  ordered_json json = {{"name", row.name},
                       {"timing", row.timing},
                       {"count", row.count},
                       {"non_finite", row.non_finite},
                       {"first_non_finite_step", optional_json(row.first_non_finite_step)}};
  if (row.count == 0) return json;
  json.update({{"last", number_json(row.last)}, {"last_step", row.last_step}});
  if (row.count > row.non_finite)
    json.update({{"min", row.min},
                 {"min_step", row.min_step},
                 {"max", row.max},
                 {"max_step", row.max_step}});
  return json;
}

ordered_json attempt_json(const AttemptRow& row) {
  return {{"attempt", row.attempt},
          {"from_step", row.from_step},
          {"last_step", row.last_step},
          {"state", row.state},
          {"started_ms", row.started_ms},
          {"ended_ms", optional_json(row.ended_ms)},
          {"exit_code", optional_json(row.exit_code)},
          {"signal", optional_json(row.signal)},
          {"message", row.message},
          {"host", row.host},
          {"version", row.version},
          {"git_commit", optional_json(row.git_commit)},
          {"git_dirty", optional_json(row.git_dirty)}};
}

template <typename Rows, typename Form>
ordered_json list(const Rows& rows, Form form) {
  ordered_json json = ordered_json::array();
  for (const auto& row : rows) json.push_back(form(row));
  return json;
}

}  // namespace

ordered_json details_as_json(const RunDetails& details) {
  ordered_json json = run_json(details.run, details.folder);
  json["environment"] = details.environment;
  json["libraries"] = details.libraries;
  json["attempts"] = list(details.attempts, attempt_json);
  json["series"] = list(details.series, series_json);
  json["checkpoints"] = list(details.checkpoints, [](const CheckpointRow& row) {
    return ordered_json{{"step", row.step}, {"bytes", row.bytes}, {"folder", row.folder}};
  });
  json["events"] = list(details.events, [](const EventRow& row) {
    return ordered_json{{"attempt", row.attempt},
                        {"time_ms", row.time_ms},
                        {"level", row.level},
                        {"kind", row.kind},
                        {"text", row.text}};
  });
  json["notes"] = list(details.notes, [](const NoteRow& row) {
    return ordered_json{{"time_ms", row.time_ms}, {"text", row.text}};
  });
  json["resolved_recipe"] = details.resolved_toml;
  return json;
}

}  // namespace exprun
