// What is said before a sweep starts.
#include "control/sweep/run/forecast.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "control/launch/known_speed.h"
#include "control/launch/run/new_run.h"
#include "recipe/quantities.h"
#include "store/metrics/metric_writer.h"
#include "support/temporary_folder.h"
#include "tests/unit/recipe/recipes.h"

using namespace exprun;

namespace {

constexpr double kStepTokens = 128;  // of kTinyRecipe

SweepPlan plan_of_axes(const std::vector<std::string>& axes) {
  return plan_sweep(recipe_text(kTinyRecipe), axes);
}

SlotMachine cores(int count) {
  SlotMachine machine;
  for (int cpu = 0; cpu < count; ++cpu) machine.cores.push_back({cpu});
  return machine;
}

SlotMachine gpus(size_t count) {
  SlotMachine machine = cores(8);
  for (size_t gpu = 0; gpu < count; ++gpu) machine.gpus.push_back("GPU-" + std::to_string(gpu));
  return machine;
}

struct StoreOfRuns {
  // A run that has recorded a speed at each of its steps, in steps a second. All take no time in
  // the store, so that nothing is left for what they do beside their steps.
  int64_t add(const Trial& trial, RunState state, int64_t last_step,
              const std::vector<double>& steps_per_s,
              std::chrono::milliseconds waited = std::chrono::milliseconds(0)) {
    NewRun run;
    run.uid = std::string(31, '0') + static_cast<char>('a' + count);
    run.name = trial.resolved.section("run").get<std::string>("name");
    run.folder = run.name + std::to_string(++count);
    run.recipe_hash = trial.resolved.hash();
    run.steps = 100;
    run.parameters = parameter_rows(trial.resolved);
    const int64_t id = store.create_run(run);
    MetricWriter writer(store.file(), id);
    const auto series = writer.series("tokens_per_s", true);
    auto step = last_step - static_cast<int64_t>(steps_per_s.size());
    for (const double speed : steps_per_s) {
      const MetricWriter::Point point{series, speed * kStepTokens};
      writer.push(++step, {&point, 1});
    }
    writer.flush();
    std::this_thread::sleep_for(waited);
    store.end_attempt(id, state, 0, std::nullopt, "");
    return id;
  }

  StoreFolder place() const { return {folder.path(), folder.path()}; }

  TemporaryFolder folder;
  Store store{folder.path() / "exprun.db", Store::Access::read_write};
  int count = 0;
};

}  // namespace

TEST_CASE("sweep forecast: without an earlier run there is no time") {
  const SweepPlan plan = plan_of_axes({"lr=1,2,3"});
  const Forecast ahead = forecast(nullptr, {}, plan, false, 2, cores(8));
  CHECK(ahead.to_run == 3);
  CHECK(ahead.to_begin.size() == 3);
  CHECK(!ahead.seconds);
  CHECK(forecast_text(plan, ahead) == "sweep of 3 trials");
}

TEST_CASE("sweep forecast: the fastest run with the same model and batch tells the time") {
  const SweepPlan plan = plan_of_axes({"lr=1,2,3"});
  StoreOfRuns runs;
  runs.add(plan.trials[0], RunState::finished, 100, {1, 2, 9});
  runs.add(plan_of_axes({"lr=7,8"}).trials[0], RunState::finished, 100, {1});
  runs.add(plan_of_axes({"lr=1,2", "num_layers=1"}).trials[0], RunState::finished, 100, {50});

  const auto fastest = known_speed(runs.store, plan.trials[1].resolved, 100);
  REQUIRE(fastest);
  CHECK(fastest->tokens_per_second == 2 * kStepTokens);  // the median
  CHECK(fastest->other_seconds == 0);

  // A start is not to be multiplied, nor are evaluations of another kind counted.
  for (const char* change : {"steps=300", "checkpoint.every=3 steps"}) {
    const Trial other = plan_of_axes({"lr=1,2", change}).trials[0];
    const auto speed =
        known_speed(runs.store, other.resolved, run_steps(other.resolved.root(), {}));
    REQUIRE(speed);
    CHECK(speed->tokens_per_second == 2 * kStepTokens);
    CHECK(!speed->other_seconds);
  }

  const Forecast ahead = forecast(&runs.store, runs.place(), plan, false, 1, cores(8));
  CHECK(ahead.to_run == 2);
  CHECK(ahead.ended.at(RunState::finished) == 1);
  CHECK(*ahead.seconds == 100);  // two trials of 100 steps
  CHECK(forecast_text(plan, ahead) ==
        "sweep of 3 trials, 2 of them still to run, about 1 min 40 s if run one after another");
  Forecast soon = ahead;
  soon.seconds = 0.2;
  CHECK(forecast_text(plan, soon) ==
        "sweep of 3 trials, 2 of them still to run, less than 1 s if run one after another");
}

TEST_CASE("sweep forecast: a trial of unknown speed takes as long for a token as the others") {
  const SweepPlan plan = plan_of_axes({"lr=1,2", "sequences=8,512"});
  StoreOfRuns runs;
  runs.add(plan.trials[0], RunState::finished, 100, {2});
  const Forecast ahead = forecast(&runs.store, runs.place(), plan, false, 1, cores(8));
  CHECK(ahead.to_run == 3);
  CHECK(*ahead.seconds == 50 + 2 * 64 * 50);  // two of them have 64 times as large a batch
}

TEST_CASE("sweep forecast: that the fastest run once waited is not expected again") {
  const SweepPlan plan = plan_of_axes({"lr=1,2,3"});
  StoreOfRuns runs;
  runs.add(plan.trials[0], RunState::finished, 100, {2e6}, std::chrono::milliseconds(300));
  runs.add(plan.trials[1], RunState::finished, 100, {1e6});
  const auto fastest = known_speed(runs.store, plan.trials[2].resolved, 100);
  REQUIRE(fastest);
  CHECK(fastest->tokens_per_second == 2e6 * kStepTokens);
  CHECK(fastest->other_seconds < 0.003);
}

TEST_CASE("sweep forecast: a single trial runs after no other") {
  const SweepPlan plan = plan_of_axes({"lr=1,2"});
  StoreOfRuns runs;
  runs.add(plan.trials[0], RunState::finished, 100, {2});
  CHECK(forecast_text(plan, forecast(&runs.store, runs.place(), plan, false, 1, cores(8))) ==
        "sweep of 2 trials, 1 of them still to run, about 50 s");
}

TEST_CASE("sweep forecast: trials beside each other, and what is left of one") {
  const SweepPlan plan = plan_of_axes({"lr=1,2,3,4,5"});
  StoreOfRuns runs;
  runs.add(plan.trials[0], RunState::finished, 100, {2});
  const int64_t interrupted = runs.add(plan.trials[1], RunState::interrupted, 60, {1});
  for (const int64_t step : {30, 60})
    runs.store.record_checkpoint({interrupted, step, 1, 0, 0, ""});
  runs.add(plan.trials[2], RunState::failed, 90, {1});

  const Forecast alone = forecast(&runs.store, runs.place(), plan, false, 1, cores(8));
  CHECK(alone.to_run == 3);
  CHECK(alone.to_begin.size() == 2);
  CHECK(*alone.seconds == 50 + 50 + 20);
  const Forecast two = forecast(&runs.store, runs.place(), plan, false, 2, cores(8));
  CHECK(*two.seconds == 50 + 20);
  CHECK(forecast_text(plan, two) ==
        "sweep of 5 trials, 3 of them still to run (1 finished, 1 failed), about 1 min 10 s if run "
        "2 at a "
        "time; --retry-failed starts again those that failed");
  CHECK(*forecast(&runs.store, runs.place(), plan, false, 8, cores(8)).seconds ==
        50);  // no trial is shorter
  CHECK(*forecast(&runs.store, runs.place(), plan, false, 8, cores(1)).seconds == *alone.seconds);
  CHECK(*forecast(&runs.store, runs.place(), plan, true, 1, cores(8)).seconds == 50 + 50 + 50 + 20);
  // The run whose speed is known used all cores.
  const RunFolder fastest =
      runs.place().run(plan.trials[0].resolved.section("run").get<std::string>("name") + "1");
  std::filesystem::create_directories(fastest.path);
  keep_threads(fastest, {8, 1});
  CHECK(*forecast(&runs.store, runs.place(), plan, false, 2, cores(8)).seconds == *alone.seconds);
  CHECK(*forecast(&runs.store, runs.place(), plan, false, 2, cores(16)).seconds == *two.seconds);
}

TEST_CASE("sweep forecast: only so many trials run at a time as have cores for their ranks") {
  const auto seconds = [](const std::vector<std::string>& changes, size_t jobs,
                          const SlotMachine& machine) {
    std::vector<std::string> axes{"lr=1,2,3,4,5"};
    axes.insert(axes.end(), changes.begin(), changes.end());
    const SweepPlan plan = plan_of_axes(axes);
    StoreOfRuns runs;
    runs.add(plan.trials[0], RunState::finished, 100, {2});
    return forecast(&runs.store, runs.place(), plan, false, jobs, machine).seconds;
  };
  CHECK(seconds({}, 4, cores(4)) == 50);
  CHECK(seconds({"world_size=2"}, 4, cores(4)) == 100);
  CHECK(seconds({"world_size=2"}, 4, cores(3)) == 200);
  CHECK(seconds({"world_size=4"}, 4, cores(2)) == 200);  // more than there are
  CHECK(seconds({"world_size=2", "threads=2"}, 4, cores(8)) == 100);
  CHECK(seconds({"threads=4"}, 4, cores(8)) == 100);
  CHECK(seconds({"world_size=2", "threads=4"}, 4, gpus(4)) == 100);
  CHECK(seconds({"world_size=2", "device=cpu"}, 4, gpus(1)) == 50);
  CHECK(seconds({}, 4, gpus(1)) == 200);
  CHECK(seconds({}, 1, gpus(4)) == 200);
  CHECK(!seconds({}, 4, gpus(4)));  // a run alone has had four ranks, these have one each
}

TEST_CASE("sweep forecast: a run that was killed goes on from its newest checkpoint") {
  const SweepPlan plan = plan_of_axes({"lr=1,2,3"});
  StoreOfRuns runs;
  runs.add(plan.trials[0], RunState::finished, 100, {2});
  const int64_t killed = runs.add(plan.trials[1], RunState::killed, 60, {1});
  runs.store.record_checkpoint({killed, 40, 1, 0, 0, "step_00000040"});
  runs.add(plan.trials[2], RunState::crashed, 60, {1});
  CHECK(*forecast(&runs.store, runs.place(), plan, false, 1, cores(8)).seconds == 30 + 50);
}

TEST_CASE("sweep forecast: of trials of very many speeds the store is asked for some") {
  const SweepPlan plan = plan_of_axes({"num_layers=range(1,41)"});
  StoreOfRuns runs;
  runs.add(plan.trials[0], RunState::interrupted, 100, {2});
  runs.add(plan.trials[39], RunState::interrupted, 100, {1});
  const Forecast ahead = forecast(&runs.store, runs.place(), plan, false, 1, cores(8));
  CHECK(ahead.to_run == 40);
  CHECK(*ahead.seconds == 40 * 50);
}

TEST_CASE("sweep forecast: nothing is said of points that differ in nothing that is known") {
  StoreOfRuns runs;
  const SweepPlan plan = plan_of_axes({"lr=1,2"});
  const SweepRow earlier = runs.store.find_or_create_sweep("tiny", "{}");
  const int64_t run = runs.add(plan.trials[0], RunState::finished, 1, {});
  runs.store.record_trials(earlier.id, {{1, std::string(32, '0'), label(plan.trials[0]), run}});
  const SweepRow sweep = runs.store.find_or_create_sweep("tiny", space_json(plan));
  CHECK(difference_from_earlier(runs.store, sweep, plan) == "");
}

TEST_CASE("sweep forecast: points that are new or gone since an earlier sweep") {
  StoreOfRuns runs;
  const auto differs = [&](const std::vector<std::string>& axes) {
    const SweepPlan plan = plan_of_axes(axes);
    const SweepRow sweep = runs.store.find_or_create_sweep("tiny", space_json(plan));
    std::string text = difference_from_earlier(runs.store, sweep, plan);
    std::vector<TrialRow> rows;
    for (const Trial& trial : plan.trials)
      rows.push_back({trial.number, trial.resolved.hash(), label(trial),
                      runs.add(trial, RunState::finished, 1, {})});
    runs.store.record_trials(sweep.id, rows);
    return text;
  };
  CHECK(differs({"lr=1,2,3,4,5,6"}) == "");
  CHECK(differs({"lr=1,2,3,4,5,6"}) == "");
  CHECK(differs({"lr=1,7"}) ==
        "compared with sweep 1: one new point (lr=7), 5 points left out (lr=2, lr=3, lr=4, lr=5 "
        "and "
        "1 more)");
  CHECK(differs({"lr=1,7", "steps=50"}) ==
        "compared with sweep 2: all points are new, run.steps: 50 (was 100)");
  CHECK(differs({"seed=1,2"}) == "");
}
