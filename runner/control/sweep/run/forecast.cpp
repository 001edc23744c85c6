#include "control/sweep/run/forecast.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>
#include <set>

#include "base/format_units.h"
#include "base/strings.h"
#include "base/terminal/progress_line.h"
#include "control/launch/known_speed.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/run/new_run.h"
#include "control/launch/run/recipe_difference.h"
#include "control/launch/run/which_run.h"
#include "control/sweep/outcomes.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

constexpr int64_t kMostUnasked = 100;  // trials

// What is left of a trial.
struct Work {
  double steps = 0, tokens_a_step = 0;

  double tokens() const { return steps * tokens_a_step; }
};

// From a step to the end; nothing where only the data tell how long that is.
std::optional<Work> work_left(const ResolvedRecipe& recipe, int64_t from_step) {
  const auto steps = run_steps(recipe.root(), {});
  const auto tokens = batch_tokens(recipe.root());
  if (!steps || !tokens) return std::nullopt;
  return Work{static_cast<double>(std::max<int64_t>(0, *steps - from_step)),
              static_cast<double>(*tokens)};
}

double seconds_at(const KnownSpeed& speed, const Work& left) {
  return left.tokens() / speed.tokens_per_second + left.steps * speed.other_seconds.value_or(0);
}

// Of trials that differ in nothing that changes the speed, the store is asked once, and so of the
// first of very many that do: each question reads runs.
class Speeds {
 public:
  explicit Speeds(const Store& store) : store_(store) {}

  const std::optional<KnownSpeed>& of(const ResolvedRecipe& recipe) {
    const auto [known, is_new] = speeds_.try_emplace(speed_key(recipe));
    if (is_new && speeds_.size() <= kMostAsked)
      known->second = known_speed(store_, recipe, run_steps(recipe.root(), {}));
    return known->second;
  }

 private:
  static constexpr size_t kMostAsked = 32;

  const Store& store_;
  std::map<std::string, std::optional<KnownSpeed>> speeds_;
};

// Where a trial goes on: one that has ended does so from its newest checkpoint.
int64_t step_to_go_on_from(const Store& store, const WhichRun& which) {
  if (!which.run) return 0;
  if (which.run->state == RunState::running) return which.run->last_step;
  if (which.decision != Decision::continue_run) return 0;
  int64_t newest = 0;
  for (const CheckpointRow& checkpoint : store.checkpoints(which.run->id))
    newest = std::max(newest, checkpoint.step);
  return newest;
}

bool trains_on_gpus(const Trial& trial, const SlotMachine& machine) {
  return !machine.gpus.empty() && trial.resolved.section("run").get<std::string>("device") != "cpu";
}

// With "auto" it has a rank for each GPU of its share, of which runs alone tell no speed.
bool has_other_ranks_alone(const Trial& trial, size_t jobs, const SlotMachine& machine) {
  return jobs > 1 && machine.gpus.size() > 1 && trains_on_gpus(trial, machine) &&
         !integer_at(trial.resolved.root(), "parallelism.world_size");
}

// What a trial needs to be as fast as alone, or what there is for all of them.
struct Room {
  size_t cores = 1, gpus = 0;
};

Room room_of(const SlotMachine& machine) {
  return {std::max<size_t>(1, machine.cores.size()), machine.gpus.size()};
}

// `usual_threads`: of each rank, where the recipe does not say.
Room room_for(const Trial& trial, const SlotMachine& machine, int64_t usual_threads = 1) {
  const Room all = room_of(machine);
  const auto ranks = static_cast<size_t>(world_size(trial.resolved));
  if (trains_on_gpus(trial, machine)) return {1, std::min(ranks, all.gpus)};
  const auto threads = integer_at(trial.resolved.root(), "run.threads").value_or(usual_threads);
  return {std::min(ranks * static_cast<size_t>(threads), all.cores), 0};
}

struct TrialAhead {
  Room room;
  std::optional<Work> left;
  std::optional<double> seconds;  // that this takes
};

// Each trial begins when those before it have begun and left it room; one of unknown speed takes as
// long for a token as the others on average, or as long as they do if its tokens are unknown too.
// Nothing if no speed is known.
std::optional<double> time_of_all(const std::vector<TrialAhead>& trials, size_t jobs, Room free) {
  double sum = 0, known = 0, tokens = 0;  // of those whose speed is known
  for (const TrialAhead& trial : trials) {
    if (!trial.seconds) continue;
    sum += *trial.seconds;
    ++known;
    tokens += trial.left->tokens();
  }
  if (known == 0) return std::nullopt;
  const auto seconds_of = [&](const TrialAhead& trial) {
    if (trial.seconds) return *trial.seconds;
    return trial.left && tokens > 0 ? trial.left->tokens() * sum / tokens : sum / known;
  };
  std::multimap<double, Room> running;  // by when they end
  double now = 0, end = 0;
  for (const TrialAhead& trial : trials) {
    const Room& room = trial.room;
    while (running.size() == jobs || free.cores < room.cores || free.gpus < room.gpus) {
      const auto first = running.begin();
      now = first->first;
      free.cores += first->second.cores;
      free.gpus += first->second.gpus;
      running.erase(first);
    }
    free.cores -= room.cores;
    free.gpus -= room.gpus;
    running.emplace(now + seconds_of(trial), room);
    end = std::max(end, std::prev(running.end())->first);
  }
  return end;
}

}  // namespace

Forecast forecast(const Store* store, const StoreFolder& folder, const SweepPlan& plan,
                  bool retry_failed, size_t jobs, const SlotMachine& machine) {
  Forecast result;
  result.jobs = jobs;
  std::optional<Speeds> speeds;
  if (store) speeds.emplace(*store);
  std::vector<TrialAhead> ahead;
  for (const Trial& trial : plan.trials) {
    const WhichRun which = store ? which_run(runs_of(*store, folder, trial), false) : WhichRun{};
    const bool is_running = which.run && which.run->state == RunState::running;
    if (which.run && !is_running && !may_start(which, retry_failed)) {
      ++result.ended[which.run->state];
      continue;
    }
    ++result.to_run;
    const bool has_begun = is_running || which.decision == Decision::continue_run;
    if (!has_begun) result.to_begin.push_back(&trial);
    const int64_t from_step = store ? step_to_go_on_from(*store, which) : 0;
    TrialAhead& next = ahead.emplace_back(
        TrialAhead{room_for(trial, machine), work_left(trial.resolved, from_step), std::nullopt});
    if (!speeds || !next.left || has_other_ranks_alone(trial, jobs, machine)) continue;
    const auto& speed = speeds->of(trial.resolved);
    if (!speed) continue;
    next.seconds = seconds_at(*speed, *next.left);
    result.counts_all &= speed->other_seconds.has_value();
    // With fewer threads than that run had, it takes longer.
    if (const auto kept = kept_threads(folder.run(speed->run)))
      next.room = room_for(trial, machine, kept->threads);
  }
  result.seconds = time_of_all(ahead, jobs, room_of(machine));
  return result;
}

namespace {

// "about 12 s", "less than 1 s"
std::string about(double seconds) {
  const std::string time = time_span(seconds);
  return time.starts_with('<') ? "less than " + time.substr(1) : "about " + time;
}

}  // namespace

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
    text += ", " + with_thousands(to_run) + " of them still to run" + others;
  if (to_run > 0 && forecast.seconds)
    text += ", " + about(*forecast.seconds) + (forecast.counts_all ? "" : " of training");
  if (to_run > 1 && forecast.seconds)
    text += forecast.jobs == 1 ? " if run one after another"
                               : " if run " + std::to_string(forecast.jobs) + " at a time";
  if (forecast.ended.contains(RunState::pruned))
    text += plan.early_stop.rule == EarlyStop::Rule::none
                ? "; `exprun resume RUN` continues a pruned trial"
                : "; a pruned trial continues if it is not behind among these";
  if (forecast.ended.contains(RunState::failed) || forecast.ended.contains(RunState::diverged))
    text += "; --retry-failed starts again those that failed";
  return text;
}

void require_consent(const Forecast& forecast) {
  if (forecast.to_run <= kMostUnasked) return;
  const std::string trials = with_thousands(forecast.to_run) + " trials";
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0)
    throw Error("sweep: " + trials + " would run; use --yes to start more than " +
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

// "2 new points (lr=3e-3, lr=4e-3)"
std::string counted(const std::vector<std::string>& labels, const char* what,
                    const std::string& how) {
  return pluralize(static_cast<int64_t>(labels.size()), what) + how + " (" +
         some_of(labels, kMostNamed) + ")";
}

using Labels = std::map<std::string, const Trial*>;

Labels by_label(const SweepPlan& plan) {
  Labels labels;
  for (const Trial& trial : plan.trials) labels.emplace(label(trial), &trial);
  return labels;
}

// "compared with sweep 1: all points are new, run.steps: 4 (was 2)": what a point that is written
// alike has otherwise. Empty where none is, or none is known to have anything otherwise.
std::string nothing_in_common(const Store& store, const SweepRow& earlier,
                              const std::vector<TrialRow>& rows, const Labels& labels) {
  for (const TrialRow& row : rows) {
    const auto alike = row.run ? labels.find(row.changes) : labels.end();
    if (alike == labels.end()) continue;
    const std::string different =
        differing_parameters(parameter_rows(alike->second->resolved), store.parameters(*row.run));
    if (different.empty()) return "";
    return "compared with sweep " + std::to_string(earlier.id) + ": all points are new, " +
           different;
  }
  return "";
}

}  // namespace

std::string difference_from_earlier(const Store& store, const SweepRow& sweep,
                                    const SweepPlan& plan) {
  if (!store.trials(sweep.id).empty()) return "";
  const Labels labels = by_label(plan);
  std::string of_others;
  for (const SweepRow& earlier : store.sweeps()) {
    if (earlier.id == sweep.id || earlier.name != sweep.name) continue;
    std::set<std::string> gone;  // hashes
    const std::vector<TrialRow> rows = store.trials(earlier.id);
    for (const TrialRow& row : rows) gone.insert(row.recipe_hash);
    const size_t before = gone.size();
    std::vector<const Trial*> new_ones;
    for (const Trial& trial : plan.trials)
      if (!gone.erase(trial.resolved.hash())) new_ones.push_back(&trial);
    if (gone.size() == before) {
      if (of_others.empty()) of_others = nothing_in_common(store, earlier, rows, labels);
      continue;
    }
    std::vector<std::string> added, removed;
    for (const Trial* trial : new_ones) added.push_back(label(*trial));
    for (const TrialRow& row : rows)
      if (gone.contains(row.recipe_hash)) removed.push_back(row.changes);
    std::string text;
    if (!added.empty()) text = counted(added, "new point", "");
    if (!removed.empty())
      text += (text.empty() ? "" : ", ") + counted(removed, "point", " left out");
    return text.empty() ? "" : "compared with sweep " + std::to_string(earlier.id) + ": " + text;
  }
  return of_others;
}

}  // namespace exprun
