#include "control/sweep/run/live_table.h"

#include "base/format_units.h"
#include "base/strings.h"
#include "base/terminal/progress_line.h"
#include "base/terminal/terminal.h"
#include "control/sweep/stored_sweeps.h"

namespace exprun {
namespace {

constexpr const char* kTrainLoss = "train/loss";
constexpr std::ptrdiff_t kMostBars = 16;  // of a curve

using Clock = std::chrono::steady_clock;

std::string eta(const std::optional<double>& seconds) {
  return seconds ? time_span(*seconds) : "";
}

// The state and the time left stand in every line from the beginning, so that nothing moves when
// they come.
std::vector<Cell> cells_of(const LiveTrial& trial, const AxisColumns& axes, bool with_loss) {
  std::vector<Cell> cells{Cell::integer(trial.number)};
  for (Cell& cell : axes.cells(trial.point)) cells.push_back(std::move(cell));
  const std::string step =
      trial.steps ? std::to_string(trial.step) + "/" + std::to_string(trial.steps) : "";
  cells.insert(cells.end(),
               {Cell::word(step), Cell::word(trial.state), Cell::word(eta(trial.seconds_left))});
  if (with_loss) cells.push_back(trial.loss ? Cell::number(*trial.loss) : Cell::none());
  cells.push_back(trial.values.empty() ? Cell::none() : Cell::number(trial.values.back()));
  cells.push_back(Cell::word(sparkline(trial.values)));
  return cells;
}

std::string line_of(const LiveSweep& sweep, size_t running) {
  std::string text =
      counts_text(sweep.trials, sweep.finished, sweep.failed, sweep.pruned, sweep.interrupted);
  const auto ended = sweep.finished + sweep.failed + sweep.pruned + sweep.interrupted;
  if (ended == static_cast<int64_t>(sweep.trials)) return text;
  text += ", " + std::to_string(running) + " running";
  if (sweep.seconds_left) text += ", ETA " + eta(sweep.seconds_left);
  return text;
}

}  // namespace

std::vector<std::string> live_lines(const std::vector<LiveTrial>& trials, const LiveSweep& sweep,
                                    const AxisColumns& axes, size_t width) {
  const bool with_loss = sweep.metric != kTrainLoss;
  ResultTable table{{{"trial", "trial", true}}, {}};
  for (Column& column : axes.columns(1)) table.columns.push_back(std::move(column));
  for (Column column : {Column{"step", "step", true, 2}, Column{"state", "state", false, 6},
                        Column{"eta", "ETA", true, 3}, Column{"loss", "loss", true, 4},
                        Column{"metric", sweep.metric, true, 1}, Column{"curve", "", false, 5}})
    if (with_loss || column.key != "loss") table.columns.push_back(std::move(column));
  for (const LiveTrial& trial : trials) table.rows.push_back(cells_of(trial, axes, with_loss));
  std::vector<std::string> lines;
  if (!trials.empty()) lines = lines_of(to_plain(std::move(table), {width, false}));
  lines.push_back(line_of(sweep, trials.size()));
  return lines;
}

LiveTrial LiveTrials::look(const Trial& trial, const std::optional<RunRow>& run, bool is_saving) {
  LiveTrial shown{trial.number, axis_values(label(trial)), 0, 0, {}, {}, "starting", {}};
  if (!run) return shown;
  const std::pair<int64_t, int64_t> attempt{run->id, run->attempt};
  const auto [place, is_new] = seen_.try_emplace(trial.number);
  Seen& seen = place->second;
  if (is_new || seen.attempt != attempt) seen = {attempt, {}, run->last_step, Clock::now()};
  read_series(*run, seen, shown);
  shown.step = run->last_step;
  shown.steps = run->steps;
  shown.state = is_saving ? "saving" : "running";
  for (const MetricRow& row : seen.values) shown.values.push_back(row.value);
  const auto done = static_cast<double>(shown.step - seen.first_step);
  const std::chrono::duration<double> taken = Clock::now() - seen.first_seen;
  if (done > 0)
    shown.seconds_left = taken.count() / done * static_cast<double>(shown.steps - shown.step);
  return shown;
}

void LiveTrials::read_series(const RunRow& run, Seen& seen, LiveTrial& shown) const {
  const int64_t last = seen.values.empty() ? -1 : seen.values.back().step;
  for (const SeriesRow& series : store_.series(run.id)) {
    if (series.name == kTrainLoss && series.count > 0) shown.loss = series.last;
    if (series.name != plan_.metric || series.last_step <= last) continue;
    const auto more = store_.metrics(series.id, last);
    seen.values.insert(seen.values.end(), more.begin(), more.end());
    if (std::ssize(seen.values) > kMostBars)
      seen.values.erase(seen.values.begin(), seen.values.end() - kMostBars);
  }
}

}  // namespace exprun
