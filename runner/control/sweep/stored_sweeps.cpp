#include "control/sweep/stored_sweeps.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format_units.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "control/launch/run/observed_run.h"
#include "control/report/runs_table.h"
#include "recipe/series.h"

namespace exprun {
namespace {

StoredTrial stored_trial(const Store& store, const StoreFolder& folder, const SweepPlan& plan,
                         TrialRow row) {
  StoredTrial trial{std::move(row), {}, {}, {}};
  if (trial.row.run) trial.run = store.run(*trial.row.run);
  const bool is_removed = trial.row.purged || (trial.run && trial.run->removed_ms);
  if (is_removed) trial.run.reset();
  if (trial.run) trial.run = observed(store, folder, *trial.run);
  if (trial.run) trial.score = best_score(store, plan, trial.run->id);
  trial.state = is_removed                  ? "removed"
                : trial.run                 ? to_string(trial.run->state)
                : trial.row.problem.empty() ? "waiting"
                                            : "failed";
  return trial;
}

bool has_any(const StoredSweep& sweep, std::initializer_list<const char*> states) {
  return std::any_of(states.begin(), states.end(),
                     [&](const char* state) { return sweep.count(state) > 0; });
}

// Trials that the same command goes on with.
bool has_unfinished(const StoredSweep& sweep) {
  return sweep.count("waiting") + sweep.interrupted() > 0;
}

std::string state_of(const StoredSweep& sweep) {
  if (!sweep.processes.empty() || has_any(sweep, {"running"})) return "running";
  if (has_unfinished(sweep)) return "interrupted";
  if (has_any(sweep, {"failed", "diverged"})) return "failed";
  return has_any(sweep, {"removed"}) && sweep.count("removed") == std::ssize(sweep.trials)
             ? "removed"
             : "finished";
}

template <typename Condition>
const StoredTrial* best_of(const StoredSweep& sweep, Condition&& counts) {
  const StoredTrial* best = nullptr;
  for (const StoredTrial& trial : sweep.trials) {
    if (trial.state != "finished" || !trial.score || !counts(trial)) continue;
    if (!best || (sweep.plan.maximize ? trial.score->value > best->score->value
                                      : trial.score->value < best->score->value))
      best = &trial;
  }
  return best;
}

}  // namespace

int StoredSweep::count(const std::string& wanted) const {
  return static_cast<int>(std::count_if(trials.begin(), trials.end(),
                                        [&](const StoredTrial& t) { return t.state == wanted; }));
}

const StoredTrial* StoredSweep::best() const {
  return best_of(*this, [](const StoredTrial&) { return true; });
}

std::optional<BestPoint> StoredSweep::best_point() const {
  const std::vector<Replicates> points = means();
  if (!points.empty() && points.front().spread.count > 1) {
    const AxisValues& point = points.front().point;
    const auto is_of_it = [&](const StoredTrial& t) {
      return without_replicate(axis_values(t.row.changes)) == point;
    };
    return BestPoint{best_of(*this, is_of_it), to_string(point), points.front().spread};
  }
  const StoredTrial* const trial = best();
  if (!trial) return std::nullopt;
  return BestPoint{trial, trial->row.changes, {}};
}

std::vector<AxisValues> StoredSweep::points() const {
  std::vector<AxisValues> points;
  for (const StoredTrial& trial : trials) points.push_back(axis_values(trial.row.changes));
  return points;
}

int StoredSweep::interrupted() const {
  return count("interrupted") + count("preempted") + count("killed") + count("crashed");
}

std::vector<Replicates> StoredSweep::means() const {
  return replicates_of(finished_points(), plan.maximize);
}

std::vector<ScoredPoint> StoredSweep::finished_points() const {
  std::vector<ScoredPoint> points;
  for (const StoredTrial& trial : trials)
    if (trial.state == "finished" && trial.score)
      points.push_back({axis_values(trial.row.changes), trial.score->value});
  return points;
}

std::vector<RunRow> StoredSweep::finished_runs() const {
  std::vector<RunRow> runs;
  for (const StoredTrial& trial : trials)
    if (trial.state == "finished" && trial.run) runs.push_back(*trial.run);
  return runs;
}

std::string counts_text(const StoredSweep& sweep) {
  const int removed = sweep.count("removed");
  return counts_text(sweep.trials.size(), sweep.count("finished"),
                     sweep.count("failed") + sweep.count("diverged"), sweep.count("pruned"),
                     sweep.interrupted()) +
         (removed ? ", " + std::to_string(removed) + " removed" : "");
}

std::string counts_text(size_t trials, int finished, int failed, int pruned, int interrupted) {
  std::string text = std::to_string(finished) + " of " + std::to_string(trials) +
                     (trials == 1 ? " trial" : " trials") + " finished";
  if (failed) text += ", " + std::to_string(failed) + " failed";
  if (pruned) text += ", " + std::to_string(pruned) + " stopped early";
  if (interrupted) text += ", " + std::to_string(interrupted) + " interrupted";
  return text;
}

std::string best_text(const StoredSweep& sweep, const BestPoint& best) {
  const bool so_far = has_unfinished(sweep) || has_any(sweep, {"running"});
  if (best.mean && best.changes.empty())
    return std::string("mean ") + (so_far ? "so far " : "") + "over " +
           pluralize(static_cast<int64_t>(best.mean->count), "seed") + ": " + sweep.plan.metric +
           ' ' + mean_text(*best.mean);
  const std::string text = (so_far ? "best finished so far: " : "best: ") + best.changes + ", " +
                           sweep.plan.metric + ' ';
  if (best.mean)
    return text + mean_text(*best.mean) + " over " +
           pluralize(static_cast<int64_t>(best.mean->count), "seed");
  const int64_t step = best.trial->score->step;
  return text + four_digits(best.trial->score->value) + " at step " + std::to_string(step) + " (" +
         best.trial->run->folder + ")" + (step == 0 ? ", which is before any training" : "");
}

std::string data_warning(const StoredSweep& sweep) {
  return is_independent_of_training_data(sweep.plan.metric) ? ""
                                                            : different_data(sweep.finished_runs());
}

SweepPlan recorded_plan(const SweepRow& row) {
  SweepPlan plan;
  const auto space = parse_json_or_discard<nlohmann::json>(row.space_json);
  if (!space.is_object()) return plan;
  plan.method = space.value("method", plan.method);
  plan.metric = space.value("metric", plan.metric);
  plan.maximize = space.value("goal", "minimize") == "maximize";
  if (space.contains("summary")) plan.summary = summary_of(space["summary"].get<std::string>());
  return plan;
}

StoredSweep stored_sweep(const Store& store, const StoreFolder& folder, const SweepRow& row) {
  StoredSweep sweep{row, recorded_plan(row), {}, {}, sweep_processes(folder, row.uid)};
  for (TrialRow& trial : store.trials(row.id))
    sweep.trials.push_back(stored_trial(store, folder, sweep.plan, std::move(trial)));
  sweep.state = state_of(sweep);
  return sweep;
}

}  // namespace exprun
