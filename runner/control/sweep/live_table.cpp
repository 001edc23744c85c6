#include "control/sweep/live_table.h"

#include <algorithm>

#include "base/format_units.h"
#include "base/terminal/terminal.h"

namespace exprun {
namespace {

constexpr size_t kMostBars = 16;
constexpr size_t kLongestChanges = 40;

std::string eta(const std::optional<double>& seconds) {
  return seconds ? "ETA " + duration(*seconds) : "";
}

// The cells of a line; bars are wider in bytes than on the screen, so they stand last but one.
std::vector<std::string> cells_of(const LiveTrial& trial, const LiveSweep& sweep) {
  const std::string value =
      trial.values.empty() ? "" : sweep.metric + ' ' + four_digits(trial.values.back());
  return {"[" + std::to_string(trial.number) + "/" + std::to_string(sweep.trials) + "]",
          trial.changes.substr(0, kLongestChanges),
          std::to_string(trial.step) + "/" + std::to_string(trial.steps),
          trial.state,
          eta(trial.seconds_left),
          value};
}

std::string line_of(const LiveSweep& sweep, size_t running) {
  std::string text =
      std::to_string(sweep.finished) + " of " + std::to_string(sweep.trials) + " finished";
  if (sweep.failed) text += ", " + std::to_string(sweep.failed) + " failed";
  if (sweep.pruned) text += ", " + std::to_string(sweep.pruned) + " stopped early";
  text += ", " + std::to_string(running) + " running";
  if (sweep.seconds_left) text += ", " + eta(sweep.seconds_left);
  return text;
}

}  // namespace

std::vector<std::string> live_lines(const std::vector<LiveTrial>& trials, const LiveSweep& sweep) {
  std::vector<std::vector<std::string>> rows;
  for (const LiveTrial& trial : trials) rows.push_back(cells_of(trial, sweep));
  std::vector<std::string> lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string line;
    for (size_t column = 0; column < rows[i].size(); ++column) {
      size_t width = 0;
      for (const auto& row : rows) width = std::max(width, row[column].size());
      line += rows[i][column] + std::string(width - rows[i][column].size() + 2, ' ');
    }
    const std::vector<double>& all = trials[i].values;
    const size_t shown = std::min(all.size(), kMostBars);
    line += sparkline({all.end() - static_cast<std::ptrdiff_t>(shown), all.end()});
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  lines.push_back(line_of(sweep, trials.size()));
  return lines;
}

}  // namespace exprun
