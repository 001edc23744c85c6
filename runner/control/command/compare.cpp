// exprun compare RUN RUN...
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/line/table_format.h"
#include "control/command/stored/recorded_criterion.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/report/compare/compared_series.h"
#include "control/report/compare/run_differences.h"
#include "control/report/compare/side_by_side.h"
#include "control/report/plot/run_curves.h"
#include "control/report/plot/terminal_plot.h"
#include "control/report/series_advice.h"
#include "control/report/standard_output.h"
#include "recipe/value.h"

namespace exprun {
namespace {

constexpr size_t kMostRuns = 8;

struct AskedComparison {
  Words runs, metrics;
  std::string sweep;
  bool json = false, markdown = false;
};

// Parameters, and where each run has its value from.

// Nothing where this version of exprun does not understand the recipe.
std::optional<Resolution> resolved(const Store& store, const StoreFolder& folder,
                                   const RunRow& run) {
  try {
    return try_resolve(stored_recipe(store, run), dataset_info_of(folder, run));
  } catch (const Error&) {
    return std::nullopt;
  }
}

struct Parameters {
  ResultTable values;   // for people with their origins
  ResultTable origins;  // "tiny.toml:7", "override", ...
};

Parameters parameters_of(const Store& store, const StoreFolder& folder,
                         const std::vector<ReportedRun>& runs, const std::vector<RunRow>& rows) {
  std::vector<std::optional<Resolution>> recipes;
  for (const RunRow& run : rows) recipes.push_back(resolved(store, folder, run));
  std::vector<ComparedColumn> values, origins;
  for (const auto& [path, of_runs] : different_parameters(store, rows)) {
    ComparedColumn value{{path, path}, {}}, origin{{path, path}, {}};
    for (size_t run = 0; run < rows.size(); ++run) {
      Cell cell = of_runs[run] ? value_cell(*of_runs[run]) : Cell::none();
      const Value* known = recipes[run] ? recipes[run]->recipe.find(path) : nullptr;
      const std::string place = known && of_runs[run] ? place_of(*known) : "";
      if (!of_runs[run])
        cell.text = "none";
      else if (!place.empty())
        cell.text += " (" + place + ')';
      value.cells.push_back(std::move(cell));
      origin.cells.push_back(place.empty() ? Cell::none() : Cell::word(place));
    }
    values.push_back(std::move(value));
    origins.push_back(std::move(origin));
  }
  return {side_by_side("setting", runs, std::move(values)),
          side_by_side("origin", runs, std::move(origins))};
}

// The commands that show how the code differs, where it does: each commit against the first.
Words hints_of(const std::vector<RunRow>& runs, const ResultTable& circumstances) {
  const auto differs = [&](const char* name) {
    return std::any_of(circumstances.rows.begin(), circumstances.rows.end(),
                       [&](const auto& row) { return row[0].text == name; });
  };
  Words hints;
  if (differs("uncommitted_changes"))
    hints.push_back("exprun show RUN --git-diff prints the uncommitted changes of a run");
  if (!differs("git_commit")) return hints;
  const auto& first = runs.front().git_commit;
  Words commits;
  for (const RunRow& run : runs)
    if (run.git_commit && run.git_commit != first &&
        std::find(commits.begin(), commits.end(), *run.git_commit) == commits.end())
      commits.push_back(*run.git_commit);
  for (const std::string& commit : first ? commits : Words())
    hints.push_back("git diff " + first->substr(0, 12) + ' ' + commit.substr(0, 12) +
                    " prints how the commits differ");
  return hints;
}

ResultTable circumstances_table(const std::vector<ReportedRun>& runs,
                                const Circumstances& circumstances) {
  std::vector<ComparedColumn> columns;
  if (auto forks = fork_column(runs)) {
    for (Cell& cell : forks->cells)
      if (cell.text.empty()) cell.text = "none";
    columns.push_back(std::move(*forks));
  }
  for (const auto& [name, of_runs] : circumstances.different) {
    ComparedColumn column{{name, name}, {}};
    for (const auto& value : of_runs)
      column.cells.push_back(value ? Cell::word(*value) : Cell{{}, "none"});
    columns.push_back(std::move(column));
  }
  return side_by_side("code and machine", runs, std::move(columns));
}

// What came of the runs.

std::vector<ComparedSeries> asked_series(const Store& store, const std::vector<RunRow>& runs,
                                         const Words& names, const Criterion& criterion) {
  Words usual = {"val/loss", "train/loss"};
  if (std::find(usual.begin(), usual.end(), criterion.series) == usual.end())
    usual.insert(usual.begin(), criterion.series);
  std::vector<ComparedSeries> all;
  for (const std::string& name : names.empty() ? usual : names) {
    ComparedSeries series = read_series(store, runs, name, goal_of(name, criterion));
    if (series.has_values()) {
      all.push_back(std::move(series));
    } else if (!names.empty()) {
      const std::string advice = advice_on_series(name, store.series_names());
      throw Error("compare: none of the runs has a series '" + name + "'" +
                      (advice.empty() ? "" : "; ") + advice,
                  ExitCode::bad_recipe);
    }
  }
  return all;
}

// Of all steps: the first are slower, and some wait for an evaluation.
ComparedColumn throughput_of(const Store& store, const std::vector<RunRow>& runs) {
  ComparedColumn column{{"", "median tokens/s"}, {}, Goal::highest};
  for (std::vector<MetricRow>& values :
       read_series(store, runs, "tokens_per_s", Goal::highest).values) {
    const auto median = median_of(std::move(values));
    column.cells.push_back(
        median ? Cell::number(*median, with_thousands(static_cast<int64_t>(*median)))
               : Cell::none());
  }
  return column;
}

ResultTable results_of(const Store& store, const std::vector<ReportedRun>& runs,
                       const std::vector<RunRow>& rows,
                       const std::vector<ComparedSeries>& all_series) {
  ComparedColumn state{{"", "state"}, {}}, step{{"", "step"}, {}}, time{{"", "time"}, {}};
  for (const RunRow& run : rows) {
    state.cells.push_back(state_cell(run));
    step.cells.push_back(steps_cell(run));
    time.cells.push_back(Cell::number(run.seconds, duration(run.seconds)));
  }
  std::vector<ComparedColumn> columns = {std::move(state), std::move(step), std::move(time),
                                         throughput_of(store, rows)};
  for (const ComparedSeries& series : all_series) {
    if (auto best = best_of(series)) columns.push_back(std::move(*best));
    columns.push_back(last_of(series));
    if (auto common = at_common_step(series)) columns.push_back(std::move(*common));
  }
  return side_by_side("result", runs, std::move(columns));
}

// The whole, in its three forms.

struct Comparison {
  Parameters parameters;
  std::string compared;  // of Circumstances
  ResultTable circumstances, results, partings;
  Words hints;  // what shows how the code differs
};

std::string curves_text(const Store& store, const std::vector<ReportedRun>& runs,
                        const std::vector<ComparedSeries>& all_series) {
  CurveOptions options;
  for (const ComparedSeries& series : all_series) options.series.push_back(series.name);
  std::string text;
  for (const Panel& panel : panels_of(store, plotted_runs(store, runs), options)) {
    text += '\n';
    for (const std::string& line : plot_lines(panel, fitted_to_terminal())) text += line + '\n';
  }
  return text;
}

std::string plain_text_of(const Comparison& compared) {
  const auto section = [](const ResultTable& table, const std::string& same) {
    if (table.rows.empty()) return same;
    return side_by_side_text(table, terminal_width(), stdout_wants_color());
  };
  std::string text =
      section(compared.parameters.values, "settings: the same\n") + '\n' +
      section(compared.circumstances, "origin, " + compared.compared + ": the same\n") + '\n' +
      section(compared.results, "");
  return text;
}

void print_partings(const ResultTable& partings) {
  if (partings.rows.empty()) return;
  print("\n");
  print_plain(partings, "--json and --markdown have them");
}

std::string markdown_of(const Comparison& compared) {
  std::string text;
  for (const ResultTable* table : {&compared.parameters.values, &compared.circumstances,
                                   &compared.results, &compared.partings})
    if (!table->rows.empty()) text += (text.empty() ? "" : "\n") + to_markdown(*table);
  for (const std::string& hint : compared.hints) text += (text.empty() ? "" : "\n") + hint + '\n';
  return text;
}

std::string json_of(const Comparison& compared) {
  const auto member = [](const char* name, const ResultTable& table) {
    std::string array = to_json(table);
    array.pop_back();  // its line end
    return '"' + std::string(name) + "\": " + array;
  };
  return "{" + member("settings", compared.parameters.values) + ",\n" +
         member("origins", compared.parameters.origins) + ",\n" +
         member("circumstances", compared.circumstances) + ",\n" +
         member("results", compared.results) + ",\n" + member("partings", compared.partings) +
         ",\n\"hints\": " + json_text(nlohmann::json(compared.hints), -1, NotUtf8::replaced) +
         "}\n";
}

void require_few(const std::vector<ReportedRun>& runs) {
  if (runs.size() < 2)
    throw Error(
        "compare: give at least two runs; " +
            (runs.empty() ? std::string("there are none") : "there is only " + runs[0].run.folder),
        ExitCode::bad_recipe);
  if (runs.size() > kMostRuns)
    throw Error("compare: " + std::to_string(runs.size()) + " runs do not fit side by side, only " +
                    std::to_string(kMostRuns) + "; `exprun report` has a row for each run",
                ExitCode::bad_recipe);
}

void refuse_recipes(const Words& words) {
  const auto is_recipe = [](const std::string& word) {
    std::error_code ignored;
    return word.ends_with(".toml") && std::filesystem::is_regular_file(word, ignored);
  };
  if (words.size() != 2 || !std::ranges::all_of(words, is_recipe)) return;
  throw Error("compare: takes runs, and these are recipes; exprun show " + shell_quoted(words[0]) +
                  " --diff " + shell_quoted(words[1]) + " shows how they differ",
              ExitCode::bad_recipe);
}

void compare(const AskedComparison& asked, const Globals& globals) {
  refuse_recipes(asked.runs);
  const Store store = open_store(globals.store);
  const auto runs = reported_runs(store, globals.store, asked.runs, asked.sweep);
  require_few(runs);
  std::vector<RunRow> rows;
  for (const ReportedRun& run : runs) rows.push_back(run.run);
  const Criterion criterion = recorded_criterion(store, runs, asked.sweep);
  const auto all_series = asked_series(store, rows, asked.metrics, criterion);
  Circumstances known = compared_circumstances(store, rows);
  ResultTable circumstances = circumstances_table(runs, known);
  Words hints = hints_of(rows, circumstances);
  const Comparison compared{parameters_of(store, globals.store, runs, rows),
                            std::move(known.compared),
                            std::move(circumstances),
                            results_of(store, runs, rows, all_series),
                            partings_of(rows, all_series),
                            std::move(hints)};
  if (asked.json) return print(json_of(compared));
  if (asked.markdown) return print(markdown_of(compared));
  print(plain_text_of(compared));
  print_partings(compared.partings);
  if (!all_series.empty()) print(curves_text(store, runs, all_series));
  std::fflush(stdout);
  for (const std::string& hint : compared.hints) log_info(hint);
}

}  // namespace

int run_compare(const Words& words, const Globals& globals) {
  AskedComparison asked;
  Arguments arguments(
      "compare RUN RUN...|--sweep SWEEP",
      "Shows runs side by side: settings that differ and where they come from, "
      "code and machine, results, the step at which the losses first differ, and curves.");
  arguments
      .words("RUN RUN...", asked.runs, std::string(kRunsHelp) + "; at most 8 runs", offer::runs)
      .option("--sweep", "SWEEP", asked.sweep,
              std::string("the runs of a small sweep: ") + kSweepHelp, offer::sweeps)
      .list("--metric", "A,B", asked.metrics,
            "compare these series (default: val/loss, train/loss and the metric "
            "of the sweep or of the recipes)",
            offer::series)
      .flag("--json", asked.json, "print a JSON object with an array for each table")
      .flag("--markdown", asked.markdown, "print Markdown tables")
      .note(
          "Each of the other runs is compared with the first. Two values count as different if "
          "they differ in any bit. On a CPU, runs with the same recipe, exprun version, machine "
          "and number of threads do not differ, unless their kernels were chosen differently "
          "(run.deterministic fixes the choice); on a GPU, this needs run.deterministic.")
      .exit_codes(kReadsRuns)
      .example("exprun compare 1 @last", "how the newest run differs from run 1")
      .example("exprun compare quickstart --metric val/loss --metric grad_norm",
               "all runs with this name")
      .example("exprun compare 1 2 --markdown > difference.md", "for a report");
  if (!arguments.parse(words)) return 0;
  require_runs("compare", asked.runs, asked.sweep);
  if (asked.json && asked.markdown)
    throw Error("compare: give only one of --json and --markdown", ExitCode::bad_recipe);
  compare(asked, globals);
  return 0;
}

}  // namespace exprun
