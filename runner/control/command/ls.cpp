// exprun ls
#include <algorithm>

#include "base/clock.h"
#include "base/strings.h"
#include "control/command/line/table_format.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/run_values.h"
#include "control/command/stored/stored_runs.h"
#include "control/report/runs_table.h"
#include "control/report/table.h"

namespace exprun {
namespace {

struct Wanted {
  std::string states, tag, sweep;
  Where where;
  bool removed = false;
};

std::vector<ReportedRun> runs_of(const Store& store, const StoreFolder& folder,
                                 const Words& references, const Wanted& wanted) {
  const auto among = wanted.removed ? Store::Among::removed : Store::Among::kept;
  return all_runs(store, folder,
                  referred_runs(store, folder, references, wanted.sweep, among, "--columns"));
}

std::vector<ReportedRun> wanted_runs(std::vector<ReportedRun> runs, const Wanted& wanted) {
  const auto states = words_of_list(wanted.states);
  for (const std::string& state : states) require_state("ls", state);
  std::erase_if(runs, [&](const ReportedRun& reported) {
    const bool stands = states.empty() || std::ranges::any_of(states, [&](const auto& state) {
                          return is_in_state(reported.run, state);
                        });
    return !stands || !(wanted.tag.empty() || has_tag(reported.run, wanted.tag));
  });
  return runs;
}

Words keys_of_columns() {
  Words names;
  for (const Column& column : ls_table({}, 0).columns) names.push_back(column.key);
  return names;
}

// Parameters and series are columns too where they are asked for.
void add_column(ResultTable& table, const Store& store, const std::vector<ReportedRun>& runs,
                const std::shared_ptr<const SourceFile>& source, Extent part) {
  const std::string name = text_of(*source, part);
  if (find_column(table.columns, name)) return;
  const ValueName value = parse_value_name(source, part);
  const RunValues values = values_of(store, runs, value, span_of(source, part.begin, part.size));
  table.columns.push_back({name, name, all_numbers(values.cells)});
  for (size_t i = 0; i < runs.size(); ++i) table.rows[i].push_back(values.cells[i]);
}

// Of a list of columns, those that the table lacks. Returns the names.
Words add_columns(ResultTable& table, const Store& store, const std::vector<ReportedRun>& runs,
                  const std::string& option, const std::string& list) {
  const auto source = source_of(option, list);
  Words names;
  for (const Extent part : parts_of_list(list)) {
    add_column(table, store, runs, source, part);
    names.push_back(text_of(*source, part));
  }
  return names;
}

// On a narrow terminal too.
void show_what_sorts(ResultTable& table, Words& shown, const std::string& sort) {
  Column& column = table.columns[*find_column(table.columns, sort)];
  column.priority = 0;
  if (std::find(shown.begin(), shown.end(), column.key) == shown.end()) shown.push_back(column.key);
}

}  // namespace

int run_ls(const Words& words, const Globals& globals) {
  Words references;
  Wanted wanted;
  std::string sort, columns;
  bool reverse = false;
  std::optional<int64_t> most;
  TableFormat format;
  Arguments arguments(
      "ls [NAME...]",
      "Lists runs with their states, newest first; those of a sweep in the order of its trials.");
  arguments.words("NAME...", references, std::string("only these runs: ") + kRunsHelp, offer::runs)
      .option("--sweep", "SWEEP", wanted.sweep,
              std::string("only the runs of this sweep: ") + kSweepHelp, offer::sweeps)
      .option("--state", "A,B", wanted.states, "only runs in one of these states",
              offer::list_of(state_names()))
      .option("--tag", "WORD", wanted.tag, "only runs with this tag", offer::tags);
  wanted.where.declare(arguments);
  arguments.flag("--removed", wanted.removed, "list removed runs instead")
      .option(
          "--sort", "COLUMN", sort,
          "sort by a column, setting or series, lowest first; without --columns, it is shown too",
          offer::one_of(keys_of_columns()))
      .flag("--reverse", reverse, "with --sort: highest first")
      .option("--columns", "A,B", columns,
              "show these columns, settings and series, named as in --where; --columns help "
              "lists the columns; the run comes first unless its id or uid is among them",
              offer::list_of(keys_of_columns()))
      .number("--limit", most, "list at most N runs", 1)
      .exit_codes(kFindsRuns)
      .example("exprun ls --state killed,crashed", "runs that ended badly")
      .example("exprun ls --sort val_loss_best --limit 5 --columns run,val_loss_best",
               "the five best runs")
      .example("exprun ls --where 'lr>1e-4 and val/loss<3.2 and not tag(old)'",
               "by settings, results and tags");
  format.declare(arguments);
  if (!arguments.parse(words)) return 0;
  if (columns == "help") {
    format.print(ls_columns_explained(), "");
    return 0;
  }
  const Store store = open_store(globals.store);
  auto runs = wanted_runs(runs_of(store, globals.store, references, wanted), wanted);
  wanted.where.keep_matching(store, runs);
  auto table = ls_table(runs, now_ms());
  Words shown =
      columns.empty() ? ls_columns(runs) : add_columns(table, store, runs, "--columns", columns);
  if (std::ranges::none_of(shown, names_a_run)) shown.insert(shown.begin(), "run");
  if (!sort.empty()) {
    add_column(table, store, runs, source_of("--sort", sort), {0, sort.size()});
    sort_rows(table, sort, reverse);
    if (columns.empty()) show_what_sorts(table, shown, sort);
  }
  if (most) table.rows.resize(std::min(table.rows.size(), static_cast<size_t>(*most)));
  choose_columns(table, shown);
  format.print(table, wanted.removed || !store.runs().empty() ? "no run matches"
                                                              : why_no_runs(store, globals.store));
  return 0;
}

}  // namespace exprun
