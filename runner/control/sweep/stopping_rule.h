// Which trials of a sweep are worth going on with: that follows from their metric so far. Nothing
// else is remembered between two decisions, so a scheduler that was killed, or another one beside
// it, decides the same from the same store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/rows.h"

namespace exprun {

// By which of its values a series is compared.
enum class Summary { min, max, last };

// Throws Error (wrong usage) for another word.
Summary summary_of(const std::string& word);
const char* to_string(Summary summary);

struct EarlyStop {
  enum class Rule { none, asha, median };
  Rule rule = Rule::none;
  int64_t reduction = 4;  // asha: one of so many goes on at each rung; 2 or more
  // No trial is stopped before; the first rung of asha, each further one `reduction` times as far.
  // 0: a run's length / reduction^2, or how often it records the metric where that is longer.
  int64_t min_steps = 0;

  // Of a run with so many steps, which records the metric every so many of them.
  int64_t first_step(int64_t steps, int64_t every) const;
};

// Throws Error (wrong usage) for another word.
EarlyStop::Rule early_stop_rule(const std::string& word);

struct Objective {
  bool maximize = false;
  Summary summary = Summary::min;
};

// The metric of one trial.
class Curve {
 public:
  // `every`: how often it is recorded, in steps; 0 where that is not known.
  Curve(int64_t steps, Objective objective, int64_t every = 0)
      : steps_(steps), every_(every), objective_(objective) {}

  // The next value, of a later step. One that is not finite is worse than all others.
  void add(int64_t step, double value);

  int64_t steps() const { return steps_; }  // of the whole run
  int64_t every() const { return every_; }
  int64_t last_step() const { return points_.empty() ? -1 : points_.back().step; }
  // The summary of the values up to the first one at `step` or later, so that it is better where it
  // is smaller; nothing before there is such a value.
  std::optional<double> cost_at(int64_t step) const;
  // The summary of the last value as the user knows it; nothing without one.
  std::optional<double> value() const;

 private:
  struct Point {
    int64_t step;
    double cost;
  };
  int64_t steps_, every_;
  Objective objective_;
  std::vector<Point> points_;  // summaries
};

// Which of the trials are worth going on with, as long as their curves do not change: what they are
// compared with is made once for all of them.
//
// asha: at the last rung that it has reached, it is among the best 1/reduction of those that have
// (at least one), as in asynchronous successive halving (Li et al., "A System for Massively
// Parallel Hyperparameter Tuning", 2020); whether a trial is promoted there or stopped only is the
// scheduler's matter. median: at its last value its summary is no worse than the median of those of
// the others that came as far, where these are three or more (Golovin et al., "Google Vizier",
// 2017, with the summary in place of the mean).
class StoppingRule {
 public:
  // Both must outlive it.
  StoppingRule(const std::vector<Curve>& curves, const EarlyStop& rule)
      : curves_(curves), rule_(rule) {}

  // Why the trial at `index` is not worth going on with now: "asha: 5th of 8 at step 50; the best 2
  // go on". Nothing if it is: with more trials to compare, that may be so again.
  std::optional<std::string> reason_to_stop(size_t index);
  // Whether there is such a reason.
  bool is_behind(size_t index) { return standing(index).has_value(); }

 private:
  // Of a trial that is not worth going on with: how many are better at a step, of how many, and how
  // many of these go on.
  struct Behind {
    int64_t step;
    size_t better, compared, keep;
  };
  using Place = std::pair<double, size_t>;  // cost and index: of equal trials the first is better
  const std::vector<Place>& ranking(int64_t step);
  std::optional<Behind> standing(size_t index);
  std::optional<Behind> asha(size_t index);
  std::optional<Behind> median(size_t index);

  const std::vector<Curve>& curves_;
  const EarlyStop& rule_;
  std::map<int64_t, std::vector<Place>> rankings_;  // of the trials that have come to a step
};

}  // namespace exprun
