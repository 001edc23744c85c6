#include "control/report/plot/run_curves.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/strings.h"
#include "control/report/compare/report_columns.h"
#include "control/report/series_advice.h"
#include "recipe/quantities.h"
#include "recipe/recipe_text.h"

namespace exprun {
namespace {

constexpr const char* kLosses[] = {"train/loss", "val/loss"};

using SeriesByRun = std::map<int64_t, SeriesRow>;

// What is plotted, in the order in which it was asked for.
struct AskedSeries {
  std::string name;
  SeriesByRun by_run;
};

bool has_any_of(const SeriesByRun& series, const std::vector<PlottedRun>& runs) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const PlottedRun& run) { return series.contains(run.run.id); });
}

[[noreturn]] void refuse_series(const Store& store, const std::vector<PlottedRun>& runs,
                                const std::string& name, const std::string& command) {
  std::set<std::string> known;
  for (const PlottedRun& run : runs)
    for (const SeriesRow& series : store.series(run.run.id)) known.insert(series.name);
  const std::vector<std::string> names(known.begin(), known.end());
  const std::string which =
      runs.size() == 1 ? runs[0].run.folder + " has no" : "none of the runs has a";
  throw Error(command + ": " + which + " series '" + name + "'" + "; " +
                  (names.empty() ? "nothing is recorded yet" : advice_on_series(name, names)),
              ExitCode::bad_recipe);
}

std::vector<AskedSeries> asked_series(const Store& store, const std::vector<PlottedRun>& runs,
                                      const std::vector<std::string>& names) {
  std::vector<AskedSeries> asked;
  for (const std::string& name : names) {
    asked.push_back({name, store.series_by_run(name)});
    if (!has_any_of(asked.back().by_run, runs)) refuse_series(store, runs, name, "plot");
  }
  if (!names.empty()) return asked;
  for (const char* name : kLosses)
    if (auto by_run = store.series_by_run(name); has_any_of(by_run, runs))
      asked.push_back({name, std::move(by_run)});
  if (asked.empty()) refuse_series(store, runs, kLosses[0], "plot");
  return asked;
}

double tokens_per_step_or_refuse(const Store& store, const RunRow& run) {
  if (const auto tokens = tokens_per_step(store, run)) return static_cast<double>(*tokens);
  throw Error("plot: the recipe of " + run.folder +
                  " does not say how many tokens a step takes; use --against step",
              ExitCode::bad_recipe);
}

// Where a series is read to.
struct Reading {
  const RunRow* run;
  SeriesRow series;
  std::vector<PlotSample>* into;
};

// Between two attempts of a run, in milliseconds since the first began.
struct Pause {
  int64_t end, length;
};

std::vector<Pause> pauses_of(const Store& store, const RunRow& run) {
  std::vector<Pause> pauses;
  if (run.attempt == 1) return pauses;
  const std::vector<AttemptRow> attempts = store.attempts(run.id);
  for (size_t i = 1; i < attempts.size(); ++i) {
    const int64_t start = attempts[i].started_ms;
    pauses.push_back(
        {start - attempts[0].started_ms, start - attempts[i - 1].ended_ms.value_or(start)});
  }
  return pauses;
}

double seconds_trained(int64_t time_ms, const std::vector<Pause>& pauses) {
  for (auto pause = pauses.rbegin(); pause != pauses.rend(); ++pause)
    if (time_ms >= pause->end) time_ms -= pause->length;
  return static_cast<double>(time_ms) / 1e3;
}

void read(const Store& store, const Reading& reading, Against against, MetricCache* cache) {
  const auto pauses =
      against == Against::time ? pauses_of(store, *reading.run) : std::vector<Pause>();
  const double tokens =
      against == Against::tokens ? tokens_per_step_or_refuse(store, *reading.run) : 1;
  reading.into->reserve(static_cast<size_t>(reading.series.count));
  const auto add = [&](const MetricRow& row) {
    const double x = against == Against::time ? seconds_trained(row.time_ms, pauses)
                                              : static_cast<double>(row.step) * tokens;
    reading.into->push_back({x, row.value});
  };
  const int64_t series = reading.series.id;
  if (cache)
    std::ranges::for_each(cache->values(store, series), add);
  else
    store.each_metric(series, add);
}

// Long curves are read side by side, by connections of their own.
void read_all(const Store& store, const std::vector<Reading>& readings, Against against,
              MetricCache* cache) {
  constexpr int64_t kWorthThreads = 50'000;  // values; SQLite reads some 6 a microsecond
  int64_t values = 0;
  for (const Reading& reading : readings) values += reading.series.count;
  const size_t cores = std::max(std::thread::hardware_concurrency(), 1u);
  const size_t threads = cache || values < kWorthThreads ? 1 : std::min(cores, readings.size());
  const auto read_every = [&](const Store& mine, size_t first) {
    for (size_t i = first; i < readings.size(); i += threads)
      read(mine, readings[i], against, cache);
  };
  std::vector<std::future<void>> others;
  for (size_t first = 1; first < threads; ++first)
    others.push_back(std::async(std::launch::async, [&, first] {
      read_every(Store(store.file(), Store::Access::read_only), first);
    }));
  read_every(store, 0);
  for (std::future<void>& other : others) other.get();
}

std::vector<PlotCurve> curves_of(const Store& store, const std::vector<PlottedRun>& runs,
                                 const std::vector<const AskedSeries*>& series, Against against,
                                 MetricCache* cache) {
  const bool several_runs = runs.size() > 1, several_series = series.size() > 1;
  std::vector<PlotCurve> curves;
  curves.reserve(runs.size() * series.size());  // what is read goes into them
  std::vector<Reading> readings;
  for (size_t i = 0; i < runs.size(); ++i)
    for (size_t j = 0; j < series.size(); ++j) {
      const auto found = series[j]->by_run.find(runs[i].run.id);
      if (found == series[j]->by_run.end()) continue;
      const SeriesRow& row = found->second;
      const bool names_run = several_runs || !several_series;
      const bool names_series = several_series || !several_runs;
      std::string reading = names_series ? (names_run ? " " : "") + row.name : "";
      if (row.count) reading += ", last " + four_digits(row.last);
      curves.push_back({names_run ? runs[i].label : "",
                        {},
                        several_runs ? i : j,
                        several_runs && j % 2 == 1,
                        std::move(reading)});
      readings.push_back({&runs[i].run, row, &curves.back().samples});
    }
  read_all(store, readings, against, cache);
  return curves;
}

struct Unit {
  double size = 1;
  const char* name = "";
};

// The largest that the axis has at least two of.
Unit unit_of(double highest, std::initializer_list<Unit> larger_first) {
  for (const Unit& unit : larger_first)
    if (highest >= 2 * unit.size) return unit;
  return *(larger_first.end() - 1);
}

Unit unit_of(Against against, const std::vector<PlotCurve>& curves) {
  double highest = 0;
  for (const PlotCurve& curve : curves)
    if (!curve.samples.empty()) highest = std::max(highest, curve.samples.back().x);
  if (against == Against::step) return {1, "step"};
  if (against == Against::tokens)
    return unit_of(highest, {{1e12, "tokens (trillions)"},
                             {1e9, "tokens (billions)"},
                             {1e6, "tokens (millions)"},
                             {1, "tokens"}});
  return unit_of(
      highest,
      {{86400, "time (days)"}, {3600, "time (hours)"}, {60, "time (min)"}, {1, "time (s)"}});
}

Panel panel_of(const Store& store, const std::vector<PlottedRun>& runs,
               const std::vector<const AskedSeries*>& series, const CurveOptions& options,
               MetricCache* cache) {
  std::string title;
  for (const AskedSeries* each : series) title += (title.empty() ? "" : ", ") + each->name;
  std::vector<PlotCurve> curves = curves_of(store, runs, series, options.against, cache);
  const Unit unit = unit_of(options.against, curves);
  return make_panel(std::move(title), std::move(curves),
                    {options.smoothing, options.log_x, options.log_y, unit.name, unit.size});
}

// What tells the runs apart, as `report` orders it; what not all of them have comes last.
std::vector<ComparedColumn> telling_parameters(const Store& store,
                                               const std::vector<ReportedRun>& runs) {
  if (runs.empty()) return {};
  const std::vector<std::string> paths = store.changed_parameter_paths(ids_of(runs));
  std::vector<std::vector<Cell>> cells;
  for (const std::string& path : paths) {
    const auto by_run = store.parameter_by_run(path);
    std::vector<Cell>& of_path = cells.emplace_back();
    for (const ReportedRun& reported : runs) {
      const auto found = by_run.find(reported.run.id);
      const bool has = found != by_run.end() && !found->second.empty();
      of_path.push_back(has ? value_cell(found->second) : Cell::none());
    }
  }
  auto parameters =
      parameter_columns(paths, std::move(cells), store.parameter_paths(), /*all=*/false);
  set_changed(parameters, runs, store);
  parameters = by_entropy(std::move(parameters));
  std::stable_partition(parameters.begin(), parameters.end(), [](const ComparedColumn& column) {
    return std::ranges::none_of(column.cells, [](const Cell& cell) { return cell.text.empty(); });
  });
  return parameters;
}

// "loss" of "val/loss".
std::string last_word(const std::string& series) {
  return series.substr(series.rfind('/') + 1);
}

}  // namespace

std::vector<PlottedRun> plotted_runs(const Store& store, const std::vector<ReportedRun>& runs) {
  constexpr size_t kMostShown = 3;
  const std::vector<ComparedColumn> parameters = telling_parameters(store, runs);
  std::vector<PlottedRun> plotted;
  for (size_t run = 0; run < runs.size(); ++run) {
    std::string label = runs[run].run.folder;
    for (size_t i = 0; i < std::min(parameters.size(), kMostShown); ++i)
      if (const std::string& value = parameters[i].cells[run].text; !value.empty())
        label += ' ' + parameters[i].column.title + '=' + value;
    plotted.push_back({runs[run].run, std::move(label)});
  }
  return plotted;
}

const std::vector<MetricRow>& MetricCache::values(const Store& store, int64_t series) {
  std::vector<MetricRow>& known = known_[series];
  const std::vector<MetricRow> more = store.metrics(series, known.empty() ? -1 : known.back().step);
  known.insert(known.end(), more.begin(), more.end());
  return known;
}

std::vector<Panel> panels_of(const Store& store, const std::vector<PlottedRun>& runs,
                             const CurveOptions& options, MetricCache* cache) {
  const std::vector<AskedSeries> asked = asked_series(store, runs, options.series);
  std::vector<std::vector<const AskedSeries*>> kinds;
  for (const AskedSeries& series : asked) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return last_word(kind.front()->name) == last_word(series.name);
    });
    if (same == kinds.end())
      kinds.push_back({&series});
    else
      same->push_back(&series);
  }
  std::vector<Panel> panels;
  for (const auto& kind : kinds) panels.push_back(panel_of(store, runs, kind, options, cache));
  return panels;
}

void require_series(const Store& store, const std::vector<PlottedRun>& runs,
                    const std::vector<std::string>& names, const std::string& command) {
  for (const std::string& name : names)
    if (!has_any_of(store.series_by_run(name), runs)) refuse_series(store, runs, name, command);
}

std::optional<int64_t> tokens_per_step(const Store& store, const RunRow& run) {
  Diagnostics diagnostics;
  const auto file =
      load_file(std::make_shared<SourceFile>(SourceFile{run.folder, store.resolved_toml(run.id)}),
                diagnostics);
  return file ? batch_tokens(file->root) : std::nullopt;
}

}  // namespace exprun
