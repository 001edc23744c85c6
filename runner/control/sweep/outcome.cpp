#include "control/sweep/outcome.h"

#include "base/humane.h"
#include "control/launch/observed_runs.h"

namespace exprun {
namespace {

std::string text_of(const SweepPlan& plan, const Score& score) {
  return plan.metric + ' ' + four_digits(score.value) + " at step " + std::to_string(score.step);
}

}  // namespace

WhichRun standing(const Store& store, const StoreFolder& folder, const Trial& trial) {
  const auto name = trial.resolved.section("run").get<std::string>("name");
  std::vector<RunRow> runs = store.runs(name, trial.resolved.hash());
  for (RunRow& run : runs) run = observed(store, folder, std::move(run));
  return which_run(runs, false);
}

std::optional<Score> best_score(const Store& store, const SweepPlan& plan, int64_t run) {
  for (const SeriesRow& series : store.series(run)) {
    if (series.name != plan.metric || series.count <= series.non_finite) continue;
    if (plan.maximize) return Score{series.max, series.max_step};
    return Score{series.min, series.min_step};
  }
  return std::nullopt;
}

std::string outcome_text(const Store& store, const SweepPlan& plan, const RunRow& run) {
  const bool diverged = run.state == RunState::diverged;  // its trainer has said why
  std::string text = to_string(run.state);
  if (diverged) text += " at step " + std::to_string(run.last_step);
  if (const auto score = best_score(store, plan, run.id)) text += ", best " + text_of(plan, *score);
  text += ", " + duration(run.seconds) + " (" + run.folder + ")";
  return run.message.empty() || diverged ? text : text + ": " + run.message;
}

std::string best_text(const Store& store, const StoreFolder& folder, const SweepPlan& plan) {
  std::optional<Score> best;
  std::string text;
  for (const Trial& trial : plan.trials) {
    const WhichRun which = standing(store, folder, trial);
    if (!which.run || which.run->state != RunState::finished) continue;
    const auto score = best_score(store, plan, which.run->id);
    if (!score) continue;
    if (best && (plan.maximize ? score->value <= best->value : score->value >= best->value))
      continue;
    best = score;
    text = "best: " + label(trial) + ", " + text_of(plan, *score) + " (" + which.run->folder + ")";
  }
  return text;
}

}  // namespace exprun
