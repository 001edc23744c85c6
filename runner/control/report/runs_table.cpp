#include "control/report/runs_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/format_units.h"
#include "base/strings.h"
#include "recipe/schema/key_lookup.h"
#include "store/run_state.h"

namespace exprun {

std::vector<int64_t> ids_of(const std::vector<ReportedRun>& runs) {
  std::vector<int64_t> ids;
  for (const ReportedRun& reported : runs) ids.push_back(reported.run.id);
  return ids;
}

Cell state_cell(RunState state) {
  switch (state) {
    case RunState::running:
      return Cell::word(to_string(state), Tone::active);
    case RunState::finished:
      return Cell::word(to_string(state), Tone::good);
    case RunState::diverged:
    case RunState::failed:
    case RunState::crashed:
    case RunState::killed:
      return Cell::word(to_string(state), Tone::bad);
    default:
      return Cell::word(to_string(state));
  }
}

Cell state_cell(const RunRow& run) {
  if (run.state == RunState::running && on_another_host(run))
    return Cell::word("unknown", Tone::active);
  Cell cell = state_cell(run.state);
  cell.text = state_text(run);
  return cell;
}

Cell state_cell(const RunRow& run, int64_t now_ms) {
  Cell cell = state_cell(run);
  if (cell.text == "unknown")
    cell.text += ": on " + run.host + ", last seen " + age(run.last_beat_ms, now_ms);
  return cell;
}

namespace {

using Which = ValueName::Which;

// An extreme is that of the finite values.
bool has(const std::optional<SeriesRow>& series, Which which) {
  const bool any = which == Which::min || which == Which::max;
  return series && series->count > (any ? series->non_finite : 0);
}

constexpr std::string_view kCounts[] = {"skipped_updates", "passed_over_batches"};

}  // namespace

Cell series_cell(const std::string& series, double value) {
  const bool counts =
      std::find(std::begin(kCounts), std::end(kCounts), series) != std::end(kCounts);
  return counts ? Cell::number(value, with_thousands(std::llround(value))) : Cell::number(value);
}

Cell summary_cell(const std::optional<SeriesRow>& series, Which which) {
  if (!has(series, which)) return Cell::none();
  return series_cell(series->name, which == Which::min   ? series->min
                                   : which == Which::max ? series->max
                                                         : series->last);
}

Cell summary_step(const std::optional<SeriesRow>& series, Which which) {
  if (!has(series, which)) return Cell::none();
  return Cell::integer(which == Which::min   ? series->min_step
                       : which == Which::max ? series->max_step
                                             : series->last_step);
}

Cell steps_cell(const RunRow& run) {
  return {run.last_step, std::to_string(run.last_step) + "/" + std::to_string(run.steps)};
}

std::string different_data(const std::vector<RunRow>& with_losses) {
  std::set<std::string> fingerprints;
  for (const RunRow& run : with_losses) fingerprints.insert(run.data_fingerprint);
  if (fingerprints.size() < 2) return "";
  return "these runs were trained on " + std::to_string(fingerprints.size()) +
         " different datasets, so their losses may not be comparable";
}

std::vector<std::string> state_names() {
  std::vector<std::string> names;
  for (int state = 0; state <= static_cast<int>(RunState::pruned); ++state)
    names.emplace_back(to_string(static_cast<RunState>(state)));
  return names;
}

std::vector<std::string> shown_state_names() {
  std::vector<std::string> names = state_names();
  names.insert(names.end(), {"finished early", "unknown"});
  return names;
}

bool is_in_state(const RunRow& run, const std::string& name) {
  return to_string(run.state) == name || state_cell(run).text == name;
}

bool names_a_run(const std::string& column) {
  return column == "run" || column == "id" || column == "uid";
}

bool has_tag(const RunRow& run, const std::string& tag) {
  const auto tags = words_of_list(run.tags);
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

namespace {

// Keys that say nothing without their table: "model.type".
constexpr std::string_view kUnclear[] = {".type", ".tokens", ".path", ".every", ".name", ".length"};

}  // namespace

std::string short_title(const std::string& path, const std::vector<std::string>& all) {
  for (size_t dot = path.rfind('.'); dot != std::string::npos && dot > 0;
       dot = path.rfind('.', dot - 1)) {
    const std::string tail = path.substr(dot);
    if (std::find(std::begin(kUnclear), std::end(kUnclear), tail) != std::end(kUnclear)) continue;
    std::vector<std::string> meant;
    std::copy_if(all.begin(), all.end(), std::back_inserter(meant),
                 [&](const std::string& other) { return ('.' + other).ends_with(tail); });
    if (preferred_paths(std::move(meant)) == std::vector{path}) return tail.substr(1);
  }
  return path;
}

namespace {

struct RunColumn {
  Column column;
  const char* meaning;
  Cell (*cell)(const ReportedRun& run, int64_t now_ms);
  const char* series = "";  // whose value it is
  bool is_time = false;     // in Unix milliseconds
};

const std::vector<RunColumn>& run_columns() {
  using Run = ReportedRun;
  static const std::vector<RunColumn> columns = {
      {{"id", "id", true, 1},
       "number in this store",
       [](const Run& each, int64_t) { return Cell::integer(each.run.id); }},
      {{"run", "run"},
       "folder: the name, and the start of the uid",
       [](const Run& each, int64_t) { return Cell::word(each.run.folder); }},
      {{"state", "state", false, 2},
       "how it stands",
       [](const Run& each, int64_t now_ms) -> Cell { return state_cell(each.run, now_ms); }},
      {{"step", "step", true, 3},
       "the newest step, of how many",
       [](const Run& each, int64_t) { return steps_cell(each.run); }},
      {{"val_loss_best", "best val/loss", true, 4},
       "the lowest val/loss",
       [](const Run& each, int64_t) { return summary_cell(each.val_loss, Which::min); },
       "val/loss"},
      {{"started_ms", "started", true, 5},
       "when it began, in Unix milliseconds; --where takes dates: started > 2026-11-01",
       [](const Run& each, int64_t now_ms) -> Cell {
         return {each.run.started_ms, age(each.run.started_ms, now_ms)};
       },
       "",
       true},
      {{"seconds", "time", true, 7},
       "how long it ran, in seconds",
       [](const Run& each, int64_t) {
         return Cell::number(each.run.seconds, duration(each.run.seconds));
       }},
      {{"tags", "tags", false, 6},
       "what its recipe and exprun tag gave it",
       [](const Run& each, int64_t) { return Cell::word(each.run.tags); }},
      {{"origin", "forked at", false, 8},
       "of a fork: the step and the run that it began with",
       [](const Run& each, int64_t) { return Cell::word(describe_origin(each.run.origin)); }},
      {{"val_loss_best_step", "at step", true},
       "the step of the lowest val/loss",
       [](const Run& each, int64_t) { return summary_step(each.val_loss, Which::min); }},
      {{"val_loss_last", "val/loss", true},
       "the last val/loss",
       [](const Run& each, int64_t) { return summary_cell(each.val_loss, Which::last); },
       "val/loss"},
      {{"train_loss_last", "train/loss", true},
       "the last train/loss",
       [](const Run& each, int64_t) { return summary_cell(each.train_loss, Which::last); },
       "train/loss"},
      {{"name", "name"},
       "run.name of its recipe",
       [](const Run& each, int64_t) { return Cell::word(each.run.name); }},
      {{"uid", "uid"},
       "its identity in every store",
       [](const Run& each, int64_t) { return Cell::word(each.run.uid); }},
      {{"sweep", "sweep", true},
       "the number of the sweep that began it",
       [](const Run& each, int64_t) {
         return each.run.sweep_id ? Cell::integer(*each.run.sweep_id) : Cell::none();
       }},
      {{"attempt", "attempt", true},
       "1, and one more with each resume",
       [](const Run& each, int64_t) { return Cell::integer(each.run.attempt); }},
      {{"seed", "seed", true},
       "run.seed of its recipe",
       [](const Run& each, int64_t) { return Cell::integer(each.run.seed); }},
      {{"host", "host"},
       "the machine",
       [](const Run& each, int64_t) { return Cell::word(each.run.host); }},
      {{"git_commit", "git"},
       "the git commit of the code that ran",
       [](const Run& each, int64_t) {
         return each.run.git_commit ? Cell::word(*each.run.git_commit) : Cell::none();
       }},
      {{"exit_code", "exit code", true},
       "that of the last attempt",
       [](const Run& each, int64_t) {
         return each.run.exit_code ? Cell::integer(*each.run.exit_code) : Cell::none();
       }},
      {{"message", "message"},
       "why it ended",
       [](const Run& each, int64_t) { return Cell::message(each.run.message); }},
      {{"command_line", "command"},
       "the command that began it",
       [](const Run& each, int64_t) { return Cell::word(each.run.command_line); }},
  };
  return columns;
}

}  // namespace

std::vector<std::string> ls_columns(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> keys = {"id",         "run",    "state", "step", "val_loss_best",
                                   "started_ms", "seconds"};
  const auto tagged = [](const ReportedRun& reported) { return !reported.run.tags.empty(); };
  if (std::any_of(runs.begin(), runs.end(), tagged)) keys.push_back("tags");
  const auto forked = [](const ReportedRun& reported) { return !reported.run.origin.empty(); };
  if (std::any_of(runs.begin(), runs.end(), forked)) keys.push_back("origin");
  return keys;
}

ResultTable ls_table(const std::vector<ReportedRun>& runs, int64_t now_ms) {
  ResultTable table;
  for (const RunColumn& each : run_columns()) table.columns.push_back(each.column);
  for (const ReportedRun& reported : runs) {
    auto& row = table.rows.emplace_back();
    for (const RunColumn& each : run_columns()) row.push_back(each.cell(reported, now_ms));
  }
  return table;
}

std::optional<RunValues> ls_cells(const std::vector<ReportedRun>& runs, const std::string& name,
                                  int64_t now_ms) {
  const auto& all = run_columns();
  std::vector<Column> columns;
  for (const RunColumn& each : all) columns.push_back(each.column);
  const auto found = find_column(columns, name);
  if (!found) return std::nullopt;
  const RunColumn& column = all[*found];
  const bool is_text = !column.column.right && !column.is_time;
  RunValues values{{}, column.column.right, column.series, column.is_time, is_text ? "a text" : ""};
  for (const ReportedRun& run : runs) values.cells.push_back(column.cell(run, now_ms));
  return values;
}

ResultTable ls_columns_explained() {
  ResultTable table{{{"name", "name"}, {"title", "header"}, {"meaning", "what it is"}}, {}};
  for (const RunColumn& each : run_columns())
    table.rows.push_back(
        {Cell::word(each.column.key), Cell::word(each.column.title), Cell::word(each.meaning)});
  return table;
}

ResultTable attempts_table(const std::vector<AttemptRow>& attempts) {
  ResultTable table{{{"attempt", "attempt", true},
                     {"from_step", "from step", true, 1},
                     {"last_step", "to step", true, 1},
                     {"state", "state"},
                     {"started_ms", "began", false, 4},
                     {"seconds", "time", true, 3},
                     {"host", "host", false, 5},
                     {"version", "exprun", false, 7},
                     {"git_commit", "git", false, 8},
                     {"recipe_hash", "recipe", false, 6},
                     {"message", "message", false, 2, false, true}},
                    {}};
  for (const AttemptRow& row : attempts) {
    const double seconds =
        static_cast<double>(row.ended_ms.value_or(row.started_ms) - row.started_ms) / 1000;
    table.rows.push_back({Cell::integer(row.attempt),
                          Cell::integer(row.from_step),
                          Cell::integer(row.last_step),
                          state_cell(run_state(row.state)),
                          {row.started_ms, utc_time(row.started_ms)},
                          row.ended_ms ? Cell::number(seconds, duration(seconds)) : Cell::none(),
                          Cell::word(row.host),
                          Cell::word(row.version),
                          row.git_commit ? Cell::word(row.git_commit->substr(0, 12)) : Cell::none(),
                          Cell::word(row.recipe_hash.substr(0, 8)),
                          Cell::message(row.message)});
  }
  return table;
}

}  // namespace exprun
