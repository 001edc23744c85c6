#include "control/sweep/stopping_rule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"

using namespace exprun;

namespace {

constexpr Objective kLoss{false, Summary::min};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A value at every step from 1 on.
Curve curve(int64_t steps, const std::vector<double>& values, Objective objective = kLoss) {
  Curve curve(steps, objective);
  for (size_t i = 0; i < values.size(); ++i) curve.add(static_cast<int64_t>(i) + 1, values[i]);
  return curve;
}

constexpr EarlyStop kAsha{EarlyStop::Rule::asha, 2, 2};
constexpr EarlyStop kMedian{EarlyStop::Rule::median, 4, 2};

std::optional<std::string> reason_to_stop(const std::vector<Curve>& curves, size_t index,
                                          const EarlyStop& rule) {
  return StoppingRule(curves, rule).reason_to_stop(index);
}

std::string reason(const std::vector<Curve>& curves, size_t index, const EarlyStop& rule) {
  return reason_to_stop(curves, index, rule).value_or("goes on");
}

}  // namespace

TEST_CASE("asha: half of the trials go on at a rung, and at least one") {
  std::vector<Curve> curves{curve(8, {5, 4})};
  CHECK(reason(curves, 0, kAsha) == "goes on");
  curves.push_back(curve(8, {5, 3}));
  CHECK(reason(curves, 0, kAsha) == "asha: 2nd of 2 at step 2; the best one goes on");
  CHECK(reason(curves, 1, kAsha) == "goes on");
  curves.push_back(curve(8, {1}));  // not there yet
  CHECK(reason(curves, 2, kAsha) == "goes on");
  curves[2].add(2, 9);  // its best is still 1
  CHECK(reason(curves, 1, kAsha) == "asha: 2nd of 3 at step 2; the best one goes on");
  curves.push_back(curve(8, {7, 7}));
  CHECK(reason(curves, 1, kAsha) == "goes on");  // worth going on with after all
  CHECK(reason(curves, 3, kAsha) == "asha: 4th of 4 at step 2; the best 2 go on");
}

TEST_CASE("asha: the first rung is not before the metric is recorded, unless it is given") {
  EarlyStop rule{EarlyStop::Rule::asha, 4};
  CHECK(rule.first_step(1600, 0) == 100);
  CHECK(rule.first_step(1600, 250) == 250);
  rule.min_steps = 50;
  CHECK(rule.first_step(1600, 250) == 50);
  CHECK(EarlyStop{EarlyStop::Rule::asha, 4}.first_step(3, 0) == 1);
}

TEST_CASE("asha: a trial that records its metric more often than others has earlier rungs") {
  constexpr EarlyStop rule{EarlyStop::Rule::asha, 2};
  const auto recorded = [](int64_t steps, int64_t every, double value) {
    Curve curve(steps, kLoss, every);
    for (int64_t step = every; step <= 10; step += every) curve.add(step, value);
    return curve;
  };
  const std::vector<Curve> curves{recorded(12, 3, 1), recorded(12, 3, 2), recorded(400, 10, 3)};
  CHECK(reason(curves, 1, rule) == "asha: 2nd of 3 at step 6; the best one goes on");
  CHECK(reason(curves, 2, rule) == "goes on");
}

TEST_CASE("asha: rungs are `reduction` times as far apart, and the last step is none") {
  const std::vector<Curve> curves{curve(8, {5, 5, 5, 1, 1, 1, 1, 1}), curve(8, {4, 4, 4, 4})};
  CHECK(reason(curves, 0, kAsha) == "goes on");  // behind at step 2 only
  CHECK(reason(curves, 1, kAsha) == "asha: 2nd of 2 at step 4; the best one goes on");
  const std::vector<Curve> ended{curve(2, {1, 2}), curve(2, {1, 3})};
  CHECK(reason(ended, 1, kAsha) == "goes on");
}

TEST_CASE("asha: of any trials one goes on, also where their curves cross") {
  uint64_t state = 1;
  const auto number = [&] { return (state = state * 6364136223846793005u + 1) >> 40; };
  for (int sweep = 0; sweep < 200; ++sweep) {
    std::vector<Curve> curves;
    for (int i = 0; i < 6; ++i) {
      std::vector<double> values(1 + number() % 15);
      for (double& value : values) value = static_cast<double>(number() % 100);
      curves.push_back(curve(16, values));
    }
    size_t going = 0;
    for (size_t i = 0; i < curves.size(); ++i) going += !reason_to_stop(curves, i, kAsha);
    CHECK(going > 0);
  }
}

TEST_CASE("asha: without min_steps the first rung is steps / reduction^2") {
  const EarlyStop rule{EarlyStop::Rule::asha, 2, 0};
  const std::vector<Curve> curves{curve(12, {1, 1, 1}), curve(12, {2, 2, 2})};
  CHECK(reason(curves, 1, rule) == "asha: 2nd of 2 at step 3; the best one goes on");
}

TEST_CASE("asha: a series is compared by its lowest, highest or last value") {
  for (const auto& [objective, worse] : {std::pair{Objective{false, Summary::min}, size_t{1}},
                                         {{false, Summary::last}, size_t{0}},
                                         {{false, Summary::max}, size_t{0}},
                                         {{true, Summary::max}, size_t{1}},
                                         {{true, Summary::last}, size_t{1}},
                                         {{true, Summary::min}, size_t{0}}}) {
    const std::vector<Curve> curves{curve(8, {1, 9}, objective), curve(8, {2, 3}, objective)};
    CHECK(reason_to_stop(curves, worse, kAsha));
    CHECK(!reason_to_stop(curves, 1 - worse, kAsha));
  }
}

TEST_CASE("asha: what is not finite is the worst, of equal ones the first is better") {
  const std::vector<Curve> curves{curve(8, {kNan, kNan}), curve(8, {9, 9}), curve(8, {9, 9})};
  CHECK(reason(curves, 0, kAsha) == "asha: 3rd of 3 at step 2; the best one goes on");
  CHECK(reason(curves, 1, kAsha) == "goes on");
  CHECK(reason(curves, 2, kAsha) == "asha: 2nd of 3 at step 2; the best one goes on");
}

TEST_CASE("median: worse than the median of three others or more at the same step") {
  std::vector<Curve> curves{curve(8, {4, 4}), curve(8, {1, 1, 1}), curve(8, {2, 2})};
  CHECK(reason(curves, 0, kMedian) == "goes on");
  curves.push_back(curve(8, {3, 3, 3}));
  CHECK(reason(curves, 0, kMedian) == "median: at step 2 worse than the median of 3 other trials");
  CHECK(reason(curves, 2, kMedian) == "goes on");
  CHECK(reason(curves, 3, kMedian) == "goes on");  // one other is as far
  curves[0] = curve(8, {4});
  CHECK(reason(curves, 0, kMedian) == "goes on");  // before min_steps
  // Of four others the third counts, wherever this one stands among them.
  curves = {curve(8, {1, 1}), curve(8, {2, 2}), curve(8, {3, 3}), curve(8, {4, 4})};
  for (const auto& [cost, goes_on] : {std::pair{0.5, true}, {2.5, true}, {3, true}, {3.5, false}}) {
    curves.push_back(curve(8, {cost, cost}));
    CHECK(!reason_to_stop(curves, 4, kMedian) == goes_on);
    curves.pop_back();
  }
}

TEST_CASE("early stopping: one comparison of all trials says the same of each") {
  std::vector<Curve> curves;
  for (int i = 0; i < 20; ++i)
    curves.push_back(curve(8, std::vector<double>(1 + i % 5, i * 7 % 20)));
  for (const EarlyStop& rule : {kAsha, kMedian}) {
    StoppingRule all(curves, rule);
    for (size_t i = 0; i < curves.size(); ++i) {
      CHECK(all.reason_to_stop(i) == reason_to_stop(curves, i, rule));
      CHECK(all.is_behind(i) == all.reason_to_stop(i).has_value());
    }
  }
}

TEST_CASE("early stopping: words") {
  CHECK(early_stop_rule("median") == EarlyStop::Rule::median);
  CHECK(summary_of("last") == Summary::last);
  CHECK_THROWS_WITH_AS(early_stop_rule("ahsa"),
                       "sweep: unknown early-stopping rule 'ahsa'; give asha, median or none",
                       Error);
  CHECK_THROWS_WITH_AS(summary_of("mean"),
                       "sweep: 'mean' is not a summary of a metric; use min, max or last", Error);
}

namespace {

// A benchmark: losses that fall to a floor of their own, at a pace of their own, with noise.
struct Task {
  double floor, height, pace;
  uint64_t seed;

  double loss(int64_t step) const {
    const double noise =
        static_cast<double>((seed + static_cast<uint64_t>(step)) * 0x9e3779b97f4a7c15u >> 40) /
        (1 << 24);
    return floor + height * std::exp(-static_cast<double>(step) / pace) + 0.02 * noise;
  }
};

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 40) / (1 << 24);
  }

 private:
  uint64_t state_;
};

constexpr int64_t kSteps = 256;
constexpr size_t kTrials = 256;

std::vector<Task> tasks(uint64_t seed) {
  Numbers numbers(seed);
  std::vector<Task> tasks;
  for (size_t i = 0; i < kTrials; ++i) {
    const double distance = numbers.next();  // from the best hyper-parameter
    tasks.push_back({1 + distance * distance + 0.1 * numbers.next(), 2 + numbers.next(),
                     10 + 40 * numbers.next(), static_cast<uint64_t>(i) << 32});
  }
  return tasks;
}

// What a scheduler with so many trials at a time does, in steps of 4: it goes on with the furthest
// trial that is worth it, else begins the next. `restart_every`: it forgets everything but the
// curves that often.
struct Simulation {
  std::vector<Curve> curves;
  int64_t steps = 0;

  Simulation(const std::vector<Task>& tasks, const EarlyStop& rule, size_t jobs,
             int64_t restart_every) {
    curves.assign(tasks.size(), Curve(kSteps, kLoss));
    std::vector<size_t> running;
    for (int64_t look = 1;; ++look) {
      if (restart_every && look % restart_every == 0) running.clear();
      StoppingRule now(curves, rule);
      std::erase_if(running, [&](size_t i) {
        return curves[i].last_step() >= kSteps || now.reason_to_stop(i);
      });
      while (running.size() < jobs) {
        const auto next = next_of(running, now);
        if (!next) break;
        running.push_back(*next);
      }
      if (running.empty()) break;
      for (const size_t i : running) {
        const int64_t step = std::max<int64_t>(0, curves[i].last_step()) + 4;
        curves[i].add(step, tasks[i].loss(step));
        steps += 4;
      }
    }
  }

  std::optional<size_t> next_of(const std::vector<size_t>& running, StoppingRule& now) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < curves.size(); ++i) {
      if (std::count(running.begin(), running.end(), i) || curves[i].last_step() >= kSteps ||
          now.reason_to_stop(i))
        continue;
      if (!best || curves[i].last_step() > curves[*best].last_step()) best = i;
    }
    return best;
  }

  // How many trials would have ended better than the best that finished.
  size_t rank_of_best(const std::vector<Task>& tasks) const {
    std::vector<double> ends;
    double found = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < tasks.size(); ++i) {
      Curve whole(kSteps, kLoss);
      for (int64_t step = 4; step <= kSteps; step += 4) whole.add(step, tasks[i].loss(step));
      ends.push_back(*whole.value());
      if (curves[i].last_step() >= kSteps) found = std::min(found, ends.back());
    }
    return static_cast<size_t>(
        std::count_if(ends.begin(), ends.end(), [&](double end) { return end < found; }));
  }
};

}  // namespace

TEST_CASE("asha: of 256 trials one of the best 3 % is found with 30 % of the steps at most" *
          doctest::test_suite("exhaustive")) {
  constexpr EarlyStop rule{EarlyStop::Rule::asha, 4, 16};
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto benchmark = tasks(seed);
    for (const int64_t restart_every : {0, 7}) {
      const Simulation simulation(benchmark, rule, 4, restart_every);
      CAPTURE(seed);
      CAPTURE(restart_every);
      CHECK(simulation.rank_of_best(benchmark) < kTrials * 3 / 100);
      CHECK(simulation.steps <= static_cast<int64_t>(kTrials) * kSteps * 30 / 100);
    }
  }
}

TEST_CASE("early stopping: decisions after a restart are the same") {
  const auto benchmark = tasks(3);
  for (const EarlyStop& rule :
       {EarlyStop{EarlyStop::Rule::asha, 3, 12}, EarlyStop{EarlyStop::Rule::median, 4, 20}}) {
    const Simulation simulation(benchmark, rule, 4, 0);
    // As a scheduler reads them that starts now.
    std::vector<Curve> read(kTrials, Curve(kSteps, kLoss));
    for (size_t i = kTrials; i-- > 0;)
      for (int64_t step = 4; step <= simulation.curves[i].last_step(); step += 4)
        read[i].add(step, benchmark[i].loss(step));
    size_t stopped = 0;
    for (size_t i = 0; i < kTrials; ++i) {
      CHECK(reason(read, i, rule) == reason(simulation.curves, i, rule));
      stopped += reason_to_stop(read, i, rule).has_value();
    }
    CHECK(stopped > kTrials / 4);
  }
}
