#include "control/sweep/run_trials.h"

#include <signal.h>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "control/launch/ranks/joined_launch.h"
#include "control/launch/which_run.h"

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

namespace {

std::string prefix(const Trial& trial, const SweepPlan& plan) {
  return "[" + std::to_string(trial.number) + "/" + std::to_string(plan.trials.size()) + "] " +
         label(trial) + ": ";
}

// A trial's own talk is shown with -v only: a line a trial is what a sweep says.
LogLevel trial_level(LogLevel level) {
  return level == LogLevel::debug ? LogLevel::info : LogLevel::warning;
}

// "auto" ranks are one a GPU, as in a plain run: trials run one after another, each with all of
// them.
LaunchRequest request_for(const Trial& trial, const SweepOptions& options, int64_t sweep) {
  RecipeText text = with_world_size_of(std::nullopt, trial.text);
  ResolvedRecipe resolved = resolve(text);
  return {std::move(text), std::move(resolved), options.command_line, trial_level(options.level),
          sweep,           trial.number};
}

// A stop signal that comes before the trainer can save, or twice, ends it by that signal.
bool was_stopped(const RunRow& run) {
  const int signal = run.signal.value_or(0);
  return run.state == RunState::interrupted || run.state == RunState::preempted ||
         signal == SIGINT || signal == SIGTERM || signal == SIGUSR2;
}

void count_failed(SweepEnd& end, const RunRow& run) {
  ++end.failed;
  if (!needs_a_trainer(which_run({run}, false).decision)) ++end.for_good;
}

void count(SweepEnd& end, const Launch& launched) {
  if (launched.decision == Decision::refuse_running)
    ++end.elsewhere;
  else if (launched.run.state == RunState::finished)
    ++end.finished;
  else if (launched.exit_code && was_stopped(launched.run))
    end.stopped = launched.exit_code;
  else
    count_failed(end, launched.run);
}

const char* state_of(const SweepEnd& end) {
  if (end.stopped) return "interrupted";
  return end.failed ? "failed" : "finished";
}

std::vector<TrialRow> rows_of(const SweepPlan& plan) {
  std::vector<TrialRow> rows;
  for (const Trial& trial : plan.trials)
    rows.push_back({trial.number, trial.resolved.hash(), label(trial), std::nullopt});
  return rows;
}

SweepEnd run_all(Store& store, const StoreFolder& folder, const SweepPlan& plan,
                 const SweepOptions& options, int64_t sweep) {
  SweepEnd end;
  for (const Trial& trial : plan.trials) {
    const Decision before = standing(store, folder, trial).decision;
    const bool anew = options.retry_failed && before == Decision::refuse_ended;
    if (anew || needs_a_trainer(before)) log_info(prefix(trial, plan) + "starts");
    const Launch launched = launch(store, folder, request_for(trial, options, sweep), anew);
    store.record_trial_run(sweep, trial.number, launched.run.id);
    count(end, launched);
    const bool went_wrong = launched.exit_code && launched.run.state != RunState::finished;
    log(went_wrong ? LogLevel::warning : LogLevel::info,
        prefix(trial, plan) + outcome_text(store, plan, launched.run));
    if (end.stopped) break;
  }
  return end;
}

}  // namespace

SweepEnd run_trials(Store& store, const StoreFolder& folder, const SweepPlan& plan,
                    const SweepOptions& options) {
  const auto name = plan.trials.front().resolved.section("run").get<std::string>("name");
  const int64_t sweep = store.find_or_create_sweep(name, space_json(plan)).id;
  store.record_trials(sweep, rows_of(plan));
  try {
    const SweepEnd end = run_all(store, folder, plan, options, sweep);
    store.end_sweep(sweep, state_of(end));
    return end;
  } catch (const std::exception&) {  // a trial that could not even begin
    store.end_sweep(sweep, "failed");
    throw;
  }
}

}  // namespace exprun
