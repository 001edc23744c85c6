#include "control/report/ls_table.h"

#include <algorithm>

#include "base/humane.h"

namespace exprun {
namespace {

struct LsColumn {
  Column column;
  const char* meaning;
  Cell (*cell)(const ReportedRun& run, int64_t now_ms);
};

const std::vector<LsColumn>& all_ls_columns() {
  using Run = ReportedRun;
  static const std::vector<LsColumn> columns = {
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
      {{"val_loss_best", "best val loss", true, 4},
       "the lowest val/loss",
       [](const Run& each, int64_t) { return best_loss(each.val_loss); }},
      {{"started_ms", "started", true, 5},
       "when it began, in Unix milliseconds",
       [](const Run& each, int64_t now_ms) -> Cell {
         return {each.run.started_ms, age(each.run.started_ms, now_ms)};
       }},
      {{"seconds", "time", true, 7},
       "how long it ran, in seconds",
       [](const Run& each, int64_t) {
         return Cell::number(each.run.seconds, duration(each.run.seconds));
       }},
      {{"tags", "tags", false, 6},
       "what exprun tag gave it",
       [](const Run& each, int64_t) { return Cell::word(each.run.tags); }},
      {{"val_loss_best_step", "at step", true},
       "the step of the lowest val/loss",
       [](const Run& each, int64_t) { return best_step(each.val_loss); }},
      {{"val_loss_last", "val loss", true},
       "the last val/loss",
       [](const Run& each, int64_t) { return last_loss(each.val_loss); }},
      {{"train_loss_last", "train loss", true},
       "the last train/loss",
       [](const Run& each, int64_t) { return last_loss(each.train_loss); }},
      {{"name", "name"},
       "run.name of its recipe",
       [](const Run& each, int64_t) { return Cell::word(each.run.name); }},
      {{"uid", "uid"},
       "its identity in every store",
       [](const Run& each, int64_t) { return Cell::word(each.run.uid); }},
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
       [](const Run& each, int64_t) { return Cell::word(each.run.message); }},
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
  return keys;
}

ResultTable ls_table(const std::vector<ReportedRun>& runs, int64_t now_ms) {
  ResultTable table;
  for (const LsColumn& each : all_ls_columns()) table.columns.push_back(each.column);
  for (const ReportedRun& reported : runs) {
    auto& row = table.rows.emplace_back();
    for (const LsColumn& each : all_ls_columns()) row.push_back(each.cell(reported, now_ms));
  }
  return table;
}

ResultTable ls_columns_explained() {
  ResultTable table{{{"name", "name"}, {"title", "header"}, {"meaning", "what it is"}}, {}};
  for (const auto& [column, meaning, cell] : all_ls_columns())
    table.rows.push_back({Cell::word(column.key), Cell::word(column.title), Cell::word(meaning)});
  return table;
}

}  // namespace exprun
