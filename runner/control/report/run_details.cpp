#include "control/report/run_details.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format_units.h"
#include "base/json_text.h"
#include "base/terminal/terminal.h"
#include "control/report/runs_table.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kMargin = "#             ";

// What is read and not copied, as wide as the terminal where there is one.
std::string wrapped_line(const std::string& name, const std::string& text, size_t width) {
  return comment_line(
      name, width > 2 * kMargin.size() ? wrapped_lines(text, 0, 0, width - kMargin.size()) : text);
}

std::string text_at(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string code(const RunDetails& details) {
  const RunRow& run = details.run;
  std::string text = run.version.empty() ? "" : "exprun " + run.version;
  if (run.git_commit) text += ", git " + *run.git_commit;
  if (run.git_dirty.value_or(false))
    text += details.has_code_diff ? " with changes (--git-diff prints them)"
                                  : " with untracked files (--git-diff names them)";
  return text;
}

std::string machine(const RunRow& run, const ordered_json& environment) {
  if (environment.empty()) return run.host;
  return run.host + ", " + text_at(environment, "cpu") + ", " + text_at(environment, "cpus") +
         " CPUs, " + binary_bytes(environment.value("memory_bytes", 0.0)) + ", " +
         text_at(environment, "system");
}

std::string gpus(const ordered_json& environment) {
  std::string text;
  for (const auto& gpu : environment.value("gpus", ordered_json::array()))
    text += (text.empty() ? "" : "\n") + text_at(gpu, "name") + ' ' + text_at(gpu, "uuid") +
            (gpu.value("hidden", false) ? ", hidden from the run" : "");
  const std::string driver = text_at(environment, "driver");
  return driver.empty() ? text : text + "\ndriver " + driver;
}

// The whole configuration is for scripts.
std::string pairs(const ordered_json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    if (name == "config") continue;
    text += (text.empty() ? "" : ", ") + name + ' ' + text_at(object, name.c_str());
  }
  return text;
}

std::string standing(const RunRow& run) {
  std::string text = std::string(state_text(run)) + " at step " + std::to_string(run.last_step) +
                     " of " + std::to_string(run.steps);
  if (run.exit_code) text += ", exit code " + std::to_string(*run.exit_code);
  return text;
}

std::string times(const RunRow& run) {
  return utc_time(run.started_ms) + ", " + duration(run.seconds) + " in " +
         std::to_string(run.attempt) + (run.attempt == 1 ? " attempt" : " attempts");
}

std::string notes(const std::vector<NoteRow>& rows) {
  std::string text;
  for (const NoteRow& note : rows)
    text += (text.empty() ? "" : "\n") + utc_time(note.time_ms) + ": " + note.text;
  return text;
}

// A line for each attempt that began with another recipe than the one before it.
std::string extensions(const RunDetails& details) {
  std::string text;
  for (size_t i = 1; i < details.attempts.size(); ++i) {
    const AttemptRow &before = details.attempts[i - 1], &row = details.attempts[i];
    if (row.recipe_hash == before.recipe_hash) continue;
    text += (text.empty() ? "" : "\n") + ("by attempt " + std::to_string(row.attempt)) +
            " from step " + with_thousands(row.from_step) + "; before, its recipe was " +
            before.recipe_hash;
  }
  return text;
}

// "1.600, best 1.500 at step 250"; empty without a value.
std::string value_text(const SeriesRow& series, Goal goal) {
  if (series.count == 0) return "";
  std::string text = four_digits(series.last);
  if (goal == Goal::none) return text;
  const auto which = goal == Goal::lowest ? ValueName::Which::min : ValueName::Which::max;
  const Cell best = summary_cell(series, which), step = summary_step(series, which);
  if (best.is_none() || step.as_number() == static_cast<double>(series.last_step)) return text;
  return text + ", best " + best.text + " at step " + with_thousands(std::get<int64_t>(step.value));
}

// The lines of the losses and of the metric that the recipe names, where it is none of them.
std::string metric_lines(const std::vector<SeriesRow>& series, const Criterion& criterion,
                         std::string (*line)(const std::string& name, std::string text)) {
  const auto text_of = [&](const std::string& name) -> std::string {
    const auto found = std::ranges::find(series, name, &SeriesRow::name);
    return found == series.end() ? "" : value_text(*found, goal_of(name, criterion));
  };
  std::string text;
  bool is_loss = false;
  for (const auto& [name, loss] :
       {std::pair("val loss", "val/loss"), std::pair("train loss", "train/loss")}) {
    text += line(name, text_of(loss));
    is_loss |= criterion.series == loss;
  }
  const std::string value = is_loss ? "" : text_of(criterion.series);
  return text + line("metric", value.empty() ? "" : criterion.series + ' ' + value);
}

}  // namespace

std::string comment_line(const std::string& name, std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) return "";
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 1 + kMargin.size())
    text.replace(at, 1, '\n' + std::string(kMargin));
  return "# " + name + std::string(12 - name.size(), ' ') + text + '\n';
}

std::string details_as_comments(const RunDetails& details, size_t width) {
  const RunRow& run = details.run;
  return comment_line("run",
                      run.folder + " (id " + std::to_string(run.id) + ", uid " + run.uid + ")") +
         wrapped_line("state", standing(run), width) + wrapped_line("because", run.message, width) +
         metric_lines(details.series, details.criterion, comment_line) +
         comment_line("began", times(run)) +
         comment_line("forked at", describe_origin(run.origin)) +
         wrapped_line("fork again", details.fork_again, width) +
         comment_line("extended", extensions(details)) + comment_line("command", run.command_line) +
         comment_line("in", run.working_directory) + comment_line("folder", details.folder) +
         wrapped_line("code", code(details), width) +
         wrapped_line("machine", machine(run, details.environment), width) +
         wrapped_line("gpus", gpus(details.environment), width) +
         wrapped_line("libraries", pairs(details.libraries), width) +
         wrapped_line("variables",
                      pairs(details.environment.value("environment", ordered_json::object())),
                      width) +
         comment_line("data", run.data_fingerprint) + comment_line("recipe", run.recipe_hash) +
         comment_line("tags", run.tags) + wrapped_line("notes", notes(details.notes), width);
}

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

ordered_json run_json(const RunRow& run, const ordered_json& folder) {
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
          {"origin", run.origin.empty() ? ordered_json() : parse_json<ordered_json>(run.origin)},
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
          {"git_dirty", optional_json(row.git_dirty)},
          {"recipe_hash", row.recipe_hash}};
}

template <typename Rows, typename Form>
ordered_json list(const Rows& rows, Form form) {
  ordered_json json = ordered_json::array();
  for (const auto& row : rows) json.push_back(form(row));
  return json;
}

}  // namespace

ordered_json details_as_json(const RunDetails& details) {
  const ordered_json folder = details.has_folder ? ordered_json(details.folder) : ordered_json();
  ordered_json json = run_json(details.run, folder);
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

namespace {

std::string result_line(const std::string& name, std::string text) {
  if (text.empty()) return "";
  return "  " + name + std::string(12 - name.size(), ' ') + std::move(text) + '\n';
}

}  // namespace

std::string run_result(const RunRow& run, const std::vector<SeriesRow>& series,
                       const Criterion& criterion, const std::string& folder) {
  const std::string steps = with_thousands(run.last_step) + " of " + with_thousands(run.steps);
  return run.folder + ": " + state_text(run) + '\n' + result_line("because", run.message) +
         result_line("steps", steps) + metric_lines(series, criterion, result_line) +
         result_line("time", duration(run.seconds)) + result_line("folder", folder);
}

}  // namespace exprun
