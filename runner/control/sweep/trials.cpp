#include "control/sweep/trials.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "base/format_units.h"
#include "base/json_text.h"
#include "base/machine/processor.h"
#include "base/process/ordered_workers.h"
#include "base/strings.h"
#include "control/sweep/axis_mistakes.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/series.h"
#include "recipe/sweep/points_file.h"
#include "recipe/sweep/sweep_table.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

// What is the same in all points names no trial.
std::vector<std::string> changes_of(const SweepPoint& point) {
  std::vector<std::string> changes;
  for (const SweepChange& change : point)
    if (change.is_axis) changes.push_back(change.override);
  return changes;
}

// An option of the command line as a text of its own.
SourceSpan place_of_option(const std::string& text) {
  return span_of(std::make_shared<SourceFile>(SourceFile{"<option>", text}), 0, text.size());
}

// What the command line says goes before what the recipe says.
SweepSearch merged(SweepSearch search, const SearchOptions& options) {
  if (!options.points.empty()) {
    search.points = options.points;
    search.points_where = place_of_option("--points " + options.points);
  }
  if (options.seeds) {
    search.seeds = options.seeds;
    search.seeds_where = place_of_option("--seeds " + std::to_string(*options.seeds));
  }
  if (options.random_seed) search.random_seed = options.random_seed;
  if (options.trials) {
    search.method = "random";
    search.is_method_known = true;
    search.trials = options.trials;
    search.trials_where = place_of_option("--trials " + std::to_string(*options.trials));
  }
  if (!options.early_stop.empty()) search.early_stop = options.early_stop;
  if (options.reduction) search.reduction = options.reduction;
  if (options.min_steps) {
    search.min_steps = options.min_steps;
    search.min_steps_where = place_of_option("--min-steps " + std::to_string(*options.min_steps));
  }
  return search;
}

// Throws Error (wrong usage) for an option that has nothing to act on.
EarlyStop early_stop_of(const SweepSearch& search, const SearchOptions& options) {
  EarlyStop rule;
  if (!search.early_stop.empty()) rule.rule = early_stop_rule(search.early_stop);
  if (rule.rule == EarlyStop::Rule::none && (options.reduction || options.min_steps))
    throw Error(std::string("sweep: early stopping is off, so ") +
                    (options.reduction ? "--reduction" : "--min-steps") +
                    " has no effect; give --early-stop asha or median too",
                ExitCode::bad_recipe);
  if (search.reduction) rule.reduction = *search.reduction;
  if (search.min_steps) rule.min_steps = *search.min_steps;
  return rule;
}

// A rule that comes into force after the end of a trial would never stop it.
Diagnostics stops_before_the_end(const EarlyStop& rule, const ResolvedRecipe& trial,
                                 const SourceSpan& where) {
  const auto steps = run_steps(trial.root(), {});
  if (rule.rule == EarlyStop::Rule::none || !steps || rule.min_steps < *steps) return {};
  const std::string end = std::to_string(*steps);
  return {{where, "a trial ends at step " + end + ", too soon to be stopped early",
           "give a number of steps below " + end}};
}

// How often an evaluation records the metric, and which key says so.
struct Recorded {
  int64_t every = 0;  // steps; 0 where that is not known
  SourceSpan where;
};

Recorded recorded(const ResolvedRecipe& trial, const std::string& metric) {
  for (const MeasuredSeries& series : measured_series(trial.schemas(), trial.root()).series) {
    const std::string key = series.path + ".every";
    const auto every = series.name == metric ? period_at(trial.root(), key) : std::nullopt;
    const auto steps = every ? in_steps(trial.root(), {}, *every) : std::nullopt;
    if (steps) return {whole_steps(*steps), place_of(trial.root(), key)};
  }
  return {};
}

// Before there is a value of the metric there is nothing to compare.
Diagnostics stops_when_recorded(const EarlyStop& rule, const ResolvedRecipe& trial,
                                const Recorded& values, const std::string& metric,
                                const SourceSpan& where) {
  const auto length = run_steps(trial.root(), {});
  if (rule.rule == EarlyStop::Rule::none || !length) return {};
  const bool never = values.every >= *length;
  if (!never && (rule.min_steps == 0 || rule.min_steps >= values.every)) return {};
  const std::string every = "'" + metric + "' is recorded every " + pluralize(values.every, "step");
  if (never)
    return {{values.where,
             "no trial can be stopped early: " + every + ", and a trial ends at step " +
                 std::to_string(*length),
             "evaluate more often",
             {},
             Severity::warning}};
  return {{where,
           "no trial is compared before step " + std::to_string(values.every) + ": " + every,
           "evaluate more often, or give a min_steps of " + std::to_string(values.every),
           {},
           Severity::warning}};
}

// Which trial learns fastest cannot be seen while the learning rates still rise.
Diagnostics stops_after_warmup(const EarlyStop& rule, const ResolvedRecipe& trial, int64_t every,
                               const SourceSpan& where) {
  const auto warmup = period_at(trial.root(), "schedule.warmup");
  const auto steps = warmup ? in_steps(trial.root(), {}, *warmup) : std::nullopt;
  const auto length = run_steps(trial.root(), {});
  if (rule.rule == EarlyStop::Rule::none || !steps || !length) return {};
  const int64_t first = rule.first_step(*length, every);
  if (static_cast<double>(first) >= *steps) return {};
  Diagnostic warning{where.file ? where : trial.find("schedule.warmup")->where,
                     "trials are compared at step " + std::to_string(first) +
                         ", while their learning rates are still rising: warmup takes " +
                         pluralize(whole_steps(*steps), "step"),
                     "give a min_steps above that"};
  warning.severity = Severity::warning;
  return {warning};
}

// "trials=24" and "~sweep" are no axes: what changes [sweep] itself goes over to the overrides of
// the recipe.
void move_settings(std::vector<std::string>& arguments, std::vector<std::string>& overrides,
                   const Table& root) {
  const auto settings =
      std::stable_partition(arguments.begin(), arguments.end(), [&](const std::string& argument) {
        const auto paths = matching_paths(SchemaSet::embedded(), root, key_of(argument));
        return paths.size() != 1 || split_path(paths.front()).front() != "sweep";
      });
  // "~sweep" removes what the recipe has, and not what the line adds.
  std::stable_partition(settings, arguments.end(),
                        [](const std::string& argument) { return argument.starts_with('~'); });
  overrides.insert(overrides.end(), settings, arguments.end());
  arguments.erase(settings, arguments.end());
}

// Where the user wrote what one of two points for the same recipe has in place of the other's.
SourceSpan first_difference(const SweepPoint& point, const SweepPoint& other) {
  for (size_t i = 0; i < std::min(point.size(), other.size()); ++i)
    if (said({point[i].value, ""}) != said({other[i].value, ""})) return point[i].value;
  return point.empty() ? SourceSpan{} : point.front().value;
}

class Survey {
 public:
  Survey(RecipeText recipe, std::vector<std::string> arguments, const GlanceAtData& glance,
         const SearchOptions& options)
      : recipe_(recipe), glance_(glance) {
    bool in_recipe = has_sweep(recipe);
    if (in_recipe) recipe_.imply("~sweep");
    const Resolver resolver(recipe_);
    const Resolution base = resolver(recipe_.overrides);
    move_settings(arguments, recipe.overrides, base.recipe.root());
    sweep_ = read_sweep(recipe);
    in_recipe = in_recipe && sweep_;  // not where the command line removes it
    read_space(arguments, options, base.recipe.root());
    const std::vector<SweepPoint> points = points_of_space(resolver, base.recipe.root());
    for (const SweepAxis& axis : axes_)
      if (found_.plan.method != "random" && is_replicate(axis.key) && axis.values.size() > 1)
        found_.plan.seeds = static_cast<int64_t>(axis.values.size());
    resolve_points(resolver, points);
    if (!points.empty()) check_metric();
    if (repeated_ > 0 && are_trials_ && !has_errors(found_.diagnostics))
      warn(repeated_where_,
           std::to_string(repeated_) + " of " +
               pluralize(static_cast<int64_t>(points.size()), "point") +
               (repeated_ == 1 ? " repeats another one, which is trained once"
                               : " repeat others, which are trained once"),
           "to train each point several times, give --seeds N");
    if (!are_trials_) found_.plan.trials.clear();
    // A value that is no value may have been meant as several: that is said first.
    const bool has_axes = in_recipe ? !axes_.empty() : std::ranges::any_of(axes_, varies);
    const bool varies_nothing = !has_axes && !search_.seeds && search_.points.empty();
    if (varies_nothing && !has_errors(found_.diagnostics))
      throw Error("sweep: nothing to sweep; give a key several values: lr=1e-4,3e-4",
                  ExitCode::bad_recipe);
  }

  SweepSurvey found() && {
    found_.diagnostics = first_of(std::move(found_.diagnostics));
    return std::move(found_);
  }

 private:
  void add(const Diagnostics& more) {
    for (const Diagnostic& next : more)
      if (said_.insert(said(next)).second) found_.diagnostics.push_back(next);
  }

  void warn(const SourceSpan& where, std::string message, std::string help) {
    add({{where, std::move(message), std::move(help), {}, Severity::warning}});
  }

  // Trials are compared by what says which step of a run is the best, unless the sweep says other.
  void choose_metric(const Table& trial) {
    const auto of_runs = text_at(trial, "run.best_metric");
    std::string metric = sweep_ ? sweep_->metric : "", goal = sweep_ ? sweep_->goal : "";
    is_metric_of_runs_ = metric.empty() && is_written(trial, "run.best_metric");
    if (metric.empty()) metric = of_runs.value_or(found_.plan.metric);
    if (goal.empty() && of_runs == metric) goal = text_at(trial, "run.best_goal").value_or("");
    found_.plan.maximize =
        goal.empty() ? larger_is_better(metric).value_or(false) : goal == "maximize";
    found_.plan.metric = std::move(metric);
  }

  void look_for_metric(const Table& trial) {
    const Measured measured = measured_series(SchemaSet::embedded(), trial);
    is_metric_recorded_ |= measured.is_uncertain || measured.has(found_.plan.metric);
    for (const std::string& name : measured.names())
      if (std::ranges::count(measured_, name) == 0) measured_.push_back(name);
  }

  void check_metric() {
    const std::string& metric = found_.plan.metric;
    if (is_metric_recorded_ || is_recorded_always(SchemaSet::embedded(), metric)) return;
    if (is_metric_of_runs_ && has_errors(found_.diagnostics)) return;  // a trial's own rule says it
    const std::string message = "no trial records '" + metric + "'";
    const SourceSpan where = sweep_ ? sweep_->metric_where : SourceSpan();
    if (sweep_ && !sweep_->metric.empty())
      add({{where, message, help_for_series(metric, measured_)}});
    else if (found_.plan.early_stop.rule != EarlyStop::Rule::none)
      add({{where, message + ", by which early stopping compares them",
            "metric=train/loss compares them by that"}});
    else if (!has_errors(found_.diagnostics))
      warn(where, message + ", so none of them will be the best",
           "metric=train/loss ranks them by that");
  }

  // The recipe's axes, and those of the command line, which win.
  void read_space(const std::vector<std::string>& arguments, const SearchOptions& options,
                  const Table& root) {
    if (sweep_) {
      add(sweep_->mistakes);
      axes_ = sweep_->axes;
    }
    const std::string summary = !options.summary.empty() ? options.summary
                                : sweep_                 ? sweep_->summary
                                                         : "";
    if (!summary.empty()) found_.plan.summary = summary_of(summary);
    search_ = merged(sweep_ ? sweep_->search : SweepSearch{}, options);
    found_.plan.early_stop = early_stop_of(search_, options);
    Diagnostics mistakes;
    if (!search_.points.empty()) try {
        axes_.push_back(read_points(search_.points, search_.points_where));
      } catch (const RecipeError& error) {
        add(error.diagnostics());
      }
    const std::vector<SweepAxis> given = parse_axes(arguments, mistakes);
    add(mistakes);
    for (const SweepAxis& axis : given)
      if (axis.values.empty())
        remove_key(axes_, axis.key);
      else
        for (const SweepChange& change : axis.values.front()) {
          remove_key(axes_, change.override);
          for (const std::string& path :
               matching_paths(SchemaSet::embedded(), root, key_of(change.override)))
            if (const std::string other = alternative_to(SchemaSet::embedded(), root, path);
                !other.empty())
              remove_key(axes_, other);
        }
    axes_.insert(axes_.end(), given.begin(), given.end());
    if (!search_.method.empty()) found_.plan.method = search_.method;
    if (options.random_seed && found_.plan.method != "random" && search_.is_method_known)
      throw Error(
          "sweep: a grid runs all its points, so --random-seed has no effect; give "
          "--trials N too",
          ExitCode::bad_recipe);
    found_.plan.seeds = search_.seeds.value_or(1);
  }

  // Of so many points that they are a mistake some, of which none is a trial.
  std::vector<SweepPoint> grid_of(const std::vector<SweepAxis>& axes) {
    try {
      return expand_grid(axes);
    } catch (const RecipeError& error) {
      add(error.diagnostics());
      are_trials_ = false;
      return one_at_a_time(axes);
    }
  }

  // That of the recipe, or of "seed=5 --seeds 3".
  int64_t first_seed(const Resolver& resolver) {
    const auto given = std::find_if(axes_.begin(), axes_.end(), [](const SweepAxis& axis) {
      return axis.values.size() == 1 && axis.values.front().size() == 1 && is_replicate(axis.key);
    });
    if (found_.plan.seeds > 1 && given != axes_.end()) {
      const std::string& change = given->values.front().front().override;
      if (const auto seed = parse_number<int64_t>(change.substr(change.find('=') + 1))) {
        axes_.erase(given);
        return *seed;
      }
    }
    const Resolution base = resolver(recipe_.overrides);
    const Value* const first = base.recipe.find("run.seed");
    const auto* const seed = first ? first->as<int64_t>() : nullptr;
    return seed ? *seed : 0;
  }

  Diagnostics mistakes_of_method() const {
    const bool random = found_.plan.method == "random";
    if (random == search_.trials.has_value()) return {};
    if (random)
      return {{search_.method_where, "a random search needs the number of its trials",
               "write trials = 24 below [sweep], or give --trials 24"}};
    return {{search_.trials_where, "a grid runs all its points",
             "remove 'trials', or write method = \"random\""}};
  }

  // Where there are mistakes already, points of what is sound, for they may have others.
  std::vector<SweepPoint> points_of_space(const Resolver& resolver, const Table& root) {
    const bool random = found_.plan.method == "random";
    Diagnostics mistakes;
    if (search_.is_method_known) mistakes = mistakes_of_method();
    drop_unlisted(axes_, root, SchemaSet::embedded(), mistakes);
    find_integers(axes_, root, SchemaSet::embedded(), mistakes);
    if (!random) {
      const Diagnostics intervals =
          search_.is_method_known ? intervals_in_a_grid(axes_) : Diagnostics{};
      mistakes.insert(mistakes.end(), intervals.begin(), intervals.end());
      axes_ = with_values_only(std::move(axes_));
    }
    add(mistakes);
    const int64_t seeds = found_.plan.seeds;
    const SweepAxis replicates = seeds_axis(first_seed(resolver), seeds, search_.seeds_where);
    if (!random || has_errors(found_.diagnostics)) {
      std::vector<SweepAxis> axes = axes_;
      if (seeds > 1) axes.push_back(replicates);
      return random ? one_at_a_time(with_values_only(std::move(axes))) : grid_of(axes);
    }
    const int64_t wanted = (*search_.trials + seeds - 1) / seeds;
    std::vector<SweepPoint> points = draw_points(axes_, wanted, search_.random_seed.value_or(0));
    const auto drawn = static_cast<int64_t>(points.size());
    if (drawn < wanted && std::any_of(axes_.begin(), axes_.end(), varies))
      warn(search_.trials_where, "the axes have only " + pluralize(drawn, "point"),
           "add values or an interval, such as lr=log:1e-4..1e-2");
    else if (*search_.trials % seeds != 0)
      warn(search_.trials_where, "the last point gets fewer than " + pluralize(seeds, "seed"),
           "give a multiple of " + std::to_string(seeds));
    if (seeds > 1) points = with_each(points, replicates);
    if (static_cast<int64_t>(points.size()) > *search_.trials)
      points.resize(static_cast<size_t>(*search_.trials));
    return points;
  }

  // A point as a recipe, and what there is to say of it at the places of the axes.
  struct ResolvedPoint {
    const SweepPoint* point = nullptr;
    RecipeText text;
    Resolution resolution;
    Diagnostics said;
    DatasetInfo data = {};
  };

  ResolvedPoint resolved_point(const Resolver& resolver, const SweepPoint& point) const {
    RecipeText text = recipe_;
    for (const SweepChange& change : point) text.overrides.push_back(change.override);
    Resolution resolution = resolver(text.overrides, first_data_);
    ResolvedPoint result{&point, std::move(text), std::move(resolution), {}};
    if (glance_) {
      DataGlance data;
      {
        const std::lock_guard alone(glancing_);
        data = glance_(result.resolution);
      }
      if (data.dataset_info != first_data_)
        result.resolution = resolver(result.text.overrides, data.dataset_info);
      result.data = std::move(data.dataset_info);
      result.said = std::move(data.problems);
    }
    const Diagnostics& more = result.resolution.diagnostics;
    result.said.insert(result.said.end(), more.begin(), more.end());
    result.said = at_axes(std::move(result.said), point, result.text);
    return result;
  }

  // On all cores where there are many. Data are looked at by one thread at a time, first those of
  // the first point, which are mostly those of all: only others have a point resolved twice.
  void resolve_points(const Resolver& resolver, const std::vector<SweepPoint>& points) {
    constexpr size_t kPortion = 50;  // points: some 10 ms
    if (points.empty()) return;
    ResolvedPoint first = resolved_point(resolver, points.front());
    first_data_ = std::move(first.data);
    choose_metric(first.resolution.recipe.root());
    take(std::move(first));
    const size_t portions = (points.size() - 1 + kPortion - 1) / kPortion;
    const size_t cores = own_cores().count();
    const size_t threads = portions < 2 ? 1 : std::min(cores, portions);
    using Results = std::vector<ResolvedPoint>;
    const auto resolve_portion = [&](size_t portion) {
      Results results;
      const size_t end = std::min(points.size(), 1 + (portion + 1) * kPortion);
      for (size_t i = 1 + portion * kPortion; i < end; ++i)
        results.push_back(resolved_point(resolver, points[i]));
      return results;
    };
    const auto take_all = [this](Results results) {
      for (ResolvedPoint& result : results) take(std::move(result));
    };
    if (threads == 1) {
      for (size_t i = 0; i < portions; ++i) take_all(resolve_portion(i));
      return;
    }
    OrderedWorkers<size_t, Results> workers(
        threads, [&] { return resolve_portion; }, take_all);
    for (size_t i = 0; i < portions; ++i) workers.put(i);
    workers.finish();
  }

  void take(ResolvedPoint result) {
    const SweepPoint& point = *result.point;
    Resolution& resolution = result.resolution;
    add(result.said);
    look_for_metric(resolution.recipe.root());
    const Diagnostics twice = given_twice(point, resolution.recipe);
    add(twice);
    if (has_errors(resolution.diagnostics) || has_errors(twice)) return;
    ResolvedRecipe resolved =
        std::move(resolution.recipe).with_warnings(std::move(resolution.diagnostics));
    const EarlyStop& rule = found_.plan.early_stop;
    const SourceSpan& where = search_.min_steps_where;
    const std::string& metric = found_.plan.metric;
    const Recorded values =
        rule.rule == EarlyStop::Rule::none ? Recorded{} : recorded(resolved, metric);
    add(stops_before_the_end(rule, resolved, where));
    add(stops_when_recorded(rule, resolved, values, metric, where));
    add(stops_after_warmup(rule, resolved, values.every, where));
    const auto [same, is_new] = trials_.try_emplace(resolved.hash(), found_.plan.trials.size());
    if (!is_new) {
      const ResolvedRecipe& first = found_.plan.trials[same->second].resolved;
      const Diagnostics mistakes = one_run_of(point, first, resolved);
      add(mistakes);
      if (mistakes.empty() && ++repeated_ == 1)
        repeated_where_ = first_difference(point, found_.plan.trials[same->second].point);
      return;
    }
    const auto number = static_cast<int64_t>(found_.plan.trials.size()) + 1;
    found_.plan.trials.push_back({number, changes_of(point), point, std::move(result.text),
                                  std::move(resolved), values.every});
  }

  RecipeText recipe_;  // without its [sweep]
  const GlanceAtData& glance_;
  mutable std::mutex glancing_;
  DatasetInfo first_data_;
  std::optional<Sweep> sweep_;  // of the recipe
  std::vector<SweepAxis> axes_;
  SweepSearch search_;
  std::map<std::string, size_t> trials_;  // which has the hash
  std::set<Said> said_;
  std::vector<std::string> measured_;                            // series, by any trial
  bool is_metric_recorded_ = false, is_metric_of_runs_ = false;  // of runs: by their best_metric
  int64_t repeated_ = 0;  // points that come to the recipe of one before
  SourceSpan repeated_where_;
  bool are_trials_ = true;  // the points
  SweepSurvey found_;
};

}  // namespace

SweepSurvey survey_sweep(const RecipeText& recipe, const std::vector<std::string>& arguments,
                         const GlanceAtData& glance, const SearchOptions& options) {
  return Survey(recipe, arguments, glance, options).found();
}

SweepPlan plan_sweep(const RecipeText& recipe, const std::vector<std::string>& arguments,
                     const SearchOptions& options, const GlanceAtData& glance) {
  SweepSurvey survey = survey_sweep(recipe, arguments, glance, options);
  if (has_errors(survey.diagnostics)) throw RecipeError(std::move(survey.diagnostics));
  survey.plan.warnings = std::move(survey.diagnostics);
  return std::move(survey.plan);
}

Objective objective_of(const SweepPlan& plan) {
  return {plan.maximize, plan.summary.value_or(plan.maximize ? Summary::max : Summary::min)};
}

std::string label(const Trial& trial) {
  std::string text;
  for (const std::string& change : trial.changes) text += (text.empty() ? "" : " ") + change;
  return text.empty() ? "as written" : text;
}

std::string space_json(const SweepPlan& plan) {
  nlohmann::ordered_json space = {{"method", plan.method},
                                  {"metric", plan.metric},
                                  {"goal", plan.maximize ? "maximize" : "minimize"},
                                  {"summary", to_string(objective_of(plan).summary)},
                                  {"trials", nlohmann::ordered_json::array()}};
  for (const Trial& trial : plan.trials) space["trials"].push_back(trial.resolved.hash());
  return json_text(space);
}

}  // namespace exprun
