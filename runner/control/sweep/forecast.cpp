#include "control/sweep/forecast.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>

#include "base/format_units.h"
#include "base/strings.h"
#include "base/terminal/progress_line.h"
#include "control/launch/plan_cache.h"
#include "control/sweep/outcomes.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

constexpr int64_t kMostUnasked = 100;  // trials

// Of trials that differ in nothing that changes the speed, the store is asked once.
class Speeds {
 public:
  explicit Speeds(const Store& store) : store_(store) {}

  std::optional<double> seconds(const ResolvedRecipe& recipe) {
    const auto steps = run_steps(recipe.root(), {});
    const auto tokens = batch_tokens(recipe.root());
    if (!steps || !tokens) return std::nullopt;
    const auto [known, is_new] = speeds_.try_emplace(speed_key(recipe));
    if (is_new) known->second = fastest_speed(store_, recipe);
    if (!known->second) return std::nullopt;
    return known->second->other_seconds + static_cast<double>(*steps) *
                                              static_cast<double>(*tokens) /
                                              known->second->tokens_per_second;
  }

 private:
  const Store& store_;
  std::map<std::string, std::optional<KnownSpeed>> speeds_;
};

}  // namespace

Forecast forecast(const Store& store, const SweepPlan& plan, bool retry_failed) {
  Forecast result;
  Speeds speeds(store);
  double sum = 0;
  int64_t known = 0;
  for (const Trial& trial : plan.trials) {
    const WhichRun which = which_run(runs_of(store, trial), false);
    const bool is_running = which.run && which.run->state == RunState::running;
    if (which.run && !is_running && !may_start(which, retry_failed)) {
      ++result.ended[which.run->state];
      continue;
    }
    ++result.to_run;
    if (!is_running && which.decision != Decision::continue_run) result.to_begin.push_back(&trial);
    if (const auto seconds = speeds.seconds(trial.resolved)) {
      sum += *seconds;
      ++known;
    }
  }
  if (known > 0)
    result.seconds = sum / static_cast<double>(known) * static_cast<double>(result.to_run);
  return result;
}

std::string forecast_text(const SweepPlan& plan, const Forecast& forecast) {
  const auto trials = static_cast<int64_t>(plan.trials.size()), to_run = forecast.to_run;
  std::string text = "sweep of " + pluralize(trials, "trial");
  if (plan.seeds > 1) text += " (" + std::to_string(plan.seeds) + " seeds)";
  std::string ended;
  for (const auto& [state, count] : forecast.ended)
    ended += (ended.empty() ? "" : ", ") + with_thousands(count) + " " + to_string(state);
  const bool only_finished =
      forecast.ended.empty() ||
      (forecast.ended.size() == 1 && forecast.ended.contains(RunState::finished));
  const std::string others = only_finished ? "" : " (" + ended + ")";
  if (to_run == 0)
    text += only_finished ? ", all finished" : ", none to run" + others;
  else if (to_run < trials)
    text += ", " + with_thousands(to_run) + " of them to run" + others;
  if (to_run > 0 && forecast.seconds)
    text += ", about " + time_span(*forecast.seconds) + " if run one after another";
  if (forecast.ended.contains(RunState::pruned))
    text += "; `exprun resume RUN` continues a pruned trial";
  if (forecast.ended.contains(RunState::failed) || forecast.ended.contains(RunState::diverged))
    text += "; --retry-failed starts again those that failed";
  return text;
}

void require_consent(const Forecast& forecast) {
  if (forecast.to_run <= kMostUnasked) return;
  const std::string trials = with_thousands(forecast.to_run) + " trials";
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0)
    throw Error("sweep: " + trials + " are to run; give --yes to start more than " +
                    std::to_string(kMostUnasked),
                ExitCode::bad_recipe);
  std::cerr << "Start " << trials << "? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "y" && answer != "Y" && answer != "yes")
    throw Error("sweep: nothing was started", ExitCode::bad_recipe);
}

namespace {

constexpr size_t kMostNamed = 4;

std::string points(const std::vector<std::string>& labels, const std::string& what) {
  std::string text =
      (labels.size() == 1 ? "one point is " : std::to_string(labels.size()) + " points are ") +
      what + " (";
  for (size_t i = 0; i < std::min(labels.size(), kMostNamed); ++i)
    text += (i == 0 ? "" : ", ") + labels[i];
  if (labels.size() > kMostNamed)
    text += " and " + std::to_string(labels.size() - kMostNamed) + " more";
  return text + ")";
}

}  // namespace

std::string difference_from_earlier(const Store& store, const SweepRow& sweep,
                                    const SweepPlan& plan) {
  if (!store.trials(sweep.id).empty()) return "";
  for (const SweepRow& earlier : store.sweeps()) {
    if (earlier.id == sweep.id || earlier.name != sweep.name) continue;
    std::map<std::string, std::string> gone;  // labels by hash
    for (const TrialRow& row : store.trials(earlier.id)) gone[row.recipe_hash] = row.changes;
    const size_t before = gone.size();
    std::vector<std::string> added, removed;
    for (const Trial& trial : plan.trials)
      if (!gone.erase(trial.resolved.hash())) added.push_back(label(trial));
    if (gone.size() == before) continue;
    for (const auto& [hash, changes] : gone) removed.push_back(changes);
    std::string text;
    if (!added.empty()) text = points(added, "new");
    if (!removed.empty()) text += (text.empty() ? "" : ", ") + points(removed, "gone");
    return text.empty() ? "" : "against sweep " + std::to_string(earlier.id) + ": " + text;
  }
  return "";
}

}  // namespace exprun
