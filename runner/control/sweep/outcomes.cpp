#include "control/sweep/outcomes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format_units.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/present_folder.h"

namespace exprun {
namespace {

std::string text_of(const SweepPlan& plan, const Score& score) {
  return plan.metric + ' ' + four_digits(score.value) + " at step " + std::to_string(score.step);
}

std::optional<Score> score_of(const SeriesRow& series, Summary summary) {
  if (summary == Summary::min) return Score{series.min, series.min_step};
  if (summary == Summary::max) return Score{series.max, series.max_step};
  if (!std::isfinite(series.last)) return std::nullopt;
  return Score{series.last, series.last_step};
}

}  // namespace

// A fork of another run with the same recipe is no trial: it did not begin where trials begin.
std::vector<RunRow> runs_of(const Store& store, const StoreFolder& folder, const Trial& trial) {
  auto runs =
      store.runs(trial.resolved.section("run").get<std::string>("name"), trial.resolved.hash());
  std::erase_if(runs, [](const RunRow& run) { return !run.origin.empty(); });
  runs = meant_first(folder, std::move(runs), [&] { return trial.data_fingerprint; });
  if (runs.empty()) return runs;
  const std::string data = runs.front().data_fingerprint;
  const bool is_here = has_folder(folder, runs.front().folder);
  const auto others = std::ranges::stable_partition(runs, [&](const RunRow& run) {
    return run.data_fingerprint == data && has_folder(folder, run.folder) == is_here;
  });
  const auto unfinished =
      std::stable_partition(runs.begin(), others.begin(),
                            [](const RunRow& run) { return run.state == RunState::finished; });
  std::reverse(runs.begin(), unfinished);
  return runs;
}

WhichRun standing(const Store& store, const StoreFolder& folder, const Trial& trial) {
  std::vector<RunRow> runs = runs_of(store, folder, trial);
  for (RunRow& run : runs) run = observed(store, folder, std::move(run));
  return which_run(runs, false);
}

bool may_start(const WhichRun& which, bool retry_failed) {
  if (which.run && which.run->state == RunState::pruned) return false;
  return needs_a_trainer(which.decision) ||
         (retry_failed && which.decision == Decision::refuse_ended);
}

std::optional<Score> best_score(const Store& store, const SweepPlan& plan, int64_t run) {
  for (const SeriesRow& series : store.series(run)) {
    if (series.name != plan.metric || series.count <= series.non_finite) continue;
    return score_of(series, objective_of(plan).summary);
  }
  return std::nullopt;
}

std::string outcome_text(const Store& store, const SweepPlan& plan, const RunRow& run) {
  const bool diverged = run.state == RunState::diverged;
  std::string text = state_text(run);
  if (diverged) text += " at step " + std::to_string(run.last_step);
  const bool is_last = objective_of(plan).summary == Summary::last;
  if (const auto score = best_score(store, plan, run.id))
    text += (is_last ? ", last " : ", best ") + text_of(plan, *score);
  text += ", " + duration(run.seconds) + " (" + run.folder + ")";
  return run.message.empty() ? text : text + ": " + run.message;
}

}  // namespace exprun
