// The trials of a sweep, planned before the first of them starts: every point of the space is a
// recipe of its own, and its hash says whether it has been run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "control/data/prepare.h"
#include "control/launch/launch.h"
#include "control/sweep/stopping_rule.h"
#include "recipe/sweep/sweep_space.h"

namespace exprun {

struct Trial {
  int64_t number = 0;                // from 1
  std::vector<std::string> changes;  // "lr=0.001": what it has of the axes, as it was written
  SweepPoint point;
  RecipeText text;
  ResolvedRecipe resolved;
  int64_t every = 0;  // how often it records the metric, in steps; 0 where that is not known
  std::optional<std::string> data_fingerprint = {};  // where identify_data() found it
};

struct SweepPlan {
  std::vector<Trial> trials;
  std::string method = "grid";
  int64_t seeds = 1;  // runs of a point, which differ in run.seed: the axis of replicates
  std::string metric = "val/loss";
  bool maximize = false;
  std::optional<Summary> summary;  // of the metric; without one, of the better end
  EarlyStop early_stop;
  Diagnostics warnings;
};

Objective objective_of(const SweepPlan& plan);

// How the command line has the space searched, and its trials compared and stopped. With `trials`
// the search is random. What is empty is not said.
struct SearchOptions {
  std::string points;  // a file
  std::optional<int64_t> seeds, trials, random_seed;
  std::string early_stop, summary;  // words of early_stop_rule() and summary_of()
  std::optional<int64_t> reduction, min_steps;
};

// What there is to say about a sweep: its trials, of those points that are sound recipes, and every
// mistake and warning of the recipe, its [sweep] and all points, each once, where the recipe or an
// argument asks for it.
struct SweepSurvey {
  SweepPlan plan;
  Diagnostics diagnostics;
};

// The axes are those of the recipe's [sweep] and of `arguments`, which win; so do the `options`.
// Points that come to the same recipe are one trial; it is a mistake when they differ in keys that
// make no other run, as world_size. `glance`, where it is given, looks at the data of a point.
// Throws RecipeError for a file that is no TOML, and Error (wrong usage) when there is nothing to
// sweep.
using GlanceAtData = std::function<DataGlance(const Resolution&)>;
SweepSurvey survey_sweep(const RecipeText& recipe, const std::vector<std::string>& arguments,
                         const GlanceAtData& glance = {}, const SearchOptions& options = {});

// Its plan. Throws RecipeError with all mistakes at once.
SweepPlan plan_sweep(const RecipeText& recipe, const std::vector<std::string>& arguments,
                     const SearchOptions& options = {}, const GlanceAtData& glance = {});

// "lr=0.001 num_layers=4"
std::string label(const Trial& trial);

// Canonical, for Store::find_or_create_sweep: the same trials are the same sweep, however their
// values are written.
std::string space_json(const SweepPlan& plan);

}  // namespace exprun
