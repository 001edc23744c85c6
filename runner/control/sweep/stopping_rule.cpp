#include "control/sweep/stopping_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"

namespace exprun {
namespace {

constexpr size_t kFewestOthers = 3;  // for a median

// "1st", "22nd", "13th"
std::string ordinal(size_t number) {
  const size_t tens = number / 10 % 10, ones = number % 10;
  const char* const ending = tens == 1 || ones == 0 || ones > 3 ? "th"
                             : ones == 1                        ? "st"
                             : ones == 2                        ? "nd"
                                                                : "rd";
  return std::to_string(number) + ending;
}

}  // namespace

int64_t EarlyStop::first_step(int64_t steps, int64_t every) const {
  if (min_steps > 0) return min_steps;
  return std::max({int64_t{1}, every, steps / (reduction * reduction)});
}

Summary summary_of(const std::string& word) {
  for (const Summary summary : {Summary::min, Summary::max, Summary::last})
    if (word == to_string(summary)) return summary;
  throw Error("sweep: '" + word + "' is not a summary of a metric; use min, max or last",
              ExitCode::bad_recipe);
}

const char* to_string(Summary summary) {
  switch (summary) {
    case Summary::min:
      return "min";
    case Summary::max:
      return "max";
    case Summary::last:
      break;
  }
  return "last";
}

EarlyStop::Rule early_stop_rule(const std::string& word) {
  if (word == "none") return EarlyStop::Rule::none;
  if (word == "asha") return EarlyStop::Rule::asha;
  if (word == "median") return EarlyStop::Rule::median;
  throw Error("sweep: unknown early-stopping rule '" + word + "'; give asha, median or none",
              ExitCode::bad_recipe);
}

void Curve::add(int64_t step, double value) {
  constexpr double kWorst = std::numeric_limits<double>::infinity();
  double cost = std::isfinite(value) ? (objective_.maximize ? -value : value) : kWorst;
  if (!points_.empty() && objective_.summary != Summary::last) {
    const double before = points_.back().cost;
    const bool lowest = (objective_.summary == Summary::min) != objective_.maximize;
    cost = lowest ? std::min(before, cost) : std::max(before, cost);
  }
  points_.push_back({step, cost});
}

std::optional<double> Curve::cost_at(int64_t step) const {
  const auto point = std::lower_bound(points_.begin(), points_.end(), step,
                                      [](const Point& p, int64_t s) { return p.step < s; });
  if (point == points_.end()) return std::nullopt;
  return point->cost;
}

std::optional<double> Curve::value() const {
  if (points_.empty()) return std::nullopt;
  return objective_.maximize ? -points_.back().cost : points_.back().cost;
}

const std::vector<StoppingRule::Place>& StoppingRule::ranking(int64_t step) {
  const auto [known, is_new] = rankings_.try_emplace(step);
  if (!is_new) return known->second;
  for (size_t i = 0; i < curves_.size(); ++i)
    if (const auto cost = curves_[i].cost_at(step)) known->second.emplace_back(*cost, i);
  std::sort(known->second.begin(), known->second.end());
  return known->second;
}

namespace {

template <typename Ranking, typename Place>
size_t better_than(const Ranking& ranking, const Place& own) {
  return static_cast<size_t>(std::lower_bound(ranking.begin(), ranking.end(), own) -
                             ranking.begin());
}

}  // namespace

// Not at the rungs before its last one: where two curves cross, each would be behind at one of
// them, and no trial of the sweep would come to its end.
std::optional<StoppingRule::Behind> StoppingRule::asha(size_t index) {
  const Curve& own = curves_[index];
  int64_t rung = 0;
  for (int64_t next = rule_.first_step(own.steps(), own.every());
       next <= own.last_step() && next < own.steps(); next *= rule_.reduction)
    rung = next;
  if (rung == 0) return std::nullopt;
  const auto& reached = ranking(rung);
  const size_t better = better_than(reached, Place{*own.cost_at(rung), index});
  const size_t keep = std::max<size_t>(1, reached.size() / static_cast<size_t>(rule_.reduction));
  if (better < keep) return std::nullopt;
  return Behind{rung, better, reached.size(), keep};
}

std::optional<StoppingRule::Behind> StoppingRule::median(size_t index) {
  const Curve& own = curves_[index];
  const int64_t step = own.last_step();
  if (step < rule_.first_step(own.steps(), own.every()) || step >= own.steps()) return std::nullopt;
  const auto& reached = ranking(step);
  const size_t others = reached.size() - 1;
  if (others < kFewestOthers) return std::nullopt;
  const double cost = *own.cost_at(step);
  // Among the others: after this trial they stand a place further.
  const size_t middle = others / 2, place = better_than(reached, Place{cost, index});
  if (!(cost > reached[middle < place ? middle : middle + 1].first)) return std::nullopt;
  return Behind{step, place, reached.size(), middle};
}

std::optional<StoppingRule::Behind> StoppingRule::standing(size_t index) {
  switch (rule_.rule) {
    case EarlyStop::Rule::asha:
      return asha(index);
    case EarlyStop::Rule::median:
      return median(index);
    case EarlyStop::Rule::none:
      break;
  }
  return std::nullopt;
}

std::optional<std::string> StoppingRule::reason_to_stop(size_t index) {
  const auto found = standing(index);
  if (!found) return std::nullopt;
  const std::string at_step = "at step " + std::to_string(found->step);
  if (rule_.rule == EarlyStop::Rule::median)
    return "median: " + at_step + " worse than the median of " +
           std::to_string(found->compared - 1) + " other trials";
  return "asha: " + ordinal(found->better + 1) + " of " + std::to_string(found->compared) + ' ' +
         at_step + "; the best " +
         (found->keep == 1 ? "one goes on" : std::to_string(found->keep) + " go on");
}

}  // namespace exprun
