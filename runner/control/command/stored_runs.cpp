#include "control/command/stored_runs.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "control/command/recipe_words.h"
#include "control/launch/which_run.h"
#include "control/report/condition.h"
#include "control/report/runs_table.h"
#include "control/report/table.h"
#include "recipe/key_path.h"
#include "store/rows.h"

namespace exprun {
namespace {

std::optional<SeriesRow> series_named(const std::vector<SeriesRow>& all, const char* name) {
  for (const SeriesRow& series : all)
    if (series.name == name) return series;
  return std::nullopt;
}

void require_store(const StoreFolder& folder) {
  if (std::filesystem::exists(folder.database())) return;
  throw Error("store: there is no store in " + folder.shown.string() +
                  " yet; run a recipe first, or give the folder of a store with --store DIR",
              ExitCode::no_such_run);
}

// "runs/quickstart-1a2b3c4d/", as a shell completes it, is the folder's name to the store.
std::string last_component(const std::string& reference) {
  const std::string trimmed = reference.substr(0, reference.find_last_not_of('/') + 1);
  return std::filesystem::path(trimmed).filename().string();
}

// Overrides are stored with the whole paths of their keys, but once were as they were typed: a
// short key was the one key of the run that ends in it.
std::string with_path(const std::string& change, const std::vector<ParameterRow>& parameters) {
  const std::string sign = sign_of(change);
  const size_t end = std::min(change.find('='), change.size());
  const std::string key(trimmed(change.substr(sign.size(), end - sign.size())));
  std::string path;
  for (const ParameterRow& parameter : parameters) {
    const bool is_whole = parameter.path == key, ends_in_it = parameter.path.ends_with('.' + key);
    if (is_whole || (ends_in_it && !path.empty())) return change;
    if (ends_in_it) path = parameter.path;
  }
  return path.empty() ? change : sign + path + change.substr(end);
}

RecipeText read_stored(const Store& store, const RunRow& run, const std::string& json) {
  RecipeText text = RecipeText::from_json(json);
  const std::vector<ParameterRow> parameters = store.parameters(run.id);
  for (std::string& change : text.overrides) change = with_path(change, parameters);
  return text;
}

}  // namespace

Store open_store(const StoreFolder& folder) {
  require_store(folder);
  return Store(folder.database(), Store::Access::read_only);
}

Store open_store_to_change(const StoreFolder& folder) {
  require_store(folder);
  return open_store_to_write(folder);
}

Store open_store_to_write(const StoreFolder& folder) {
  Store store(folder.database(), Store::Access::read_write);
  store.reconcile_all();
  return store;
}

RunRow find_run(const Store& store, const StoreFolder& folder, const std::string& reference) {
  return observed(store, folder, store.find_run(last_component(reference)));
}

RecipeText stored_recipe(const Store& store, const RunRow& run, const Words& changes) {
  RecipeText text = read_stored(store, run, store.recipe_json(run.id));
  text.overrides.insert(text.overrides.end(), changes.begin(), changes.end());
  return text;
}

RecipeText latest_recipe(const Store& store, const StoreFolder& folder, const RunRow& run) {
  const auto file = folder.run(run.folder).recipe();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return stored_recipe(store, run);
  return read_stored(store, run, read_file(file));
}

ResolvedRecipe resolve_stored(const RecipeText& text, const char* command,
                              const std::string& reference) {
  try {
    return resolve(text);
  } catch (const RecipeError& error) {
    throw Error(command +
                    (": this version of exprun does not understand the recipe of " + reference) +
                    " (" + error.diagnostics().front().message +
                    "); another version wrote it, and `exprun show " + shell_quoted(reference) +
                    "` prints it as recorded",
                ExitCode::bad_recipe);
  }
}

RecipeText understood_recipe(const Store& store, const RunRow& run, const Words& changes,
                             const char* command, const std::string& reference) {
  resolve_stored(stored_recipe(store, run), command, reference);
  return stored_recipe(store, run, changes);
}

std::vector<RunRow> referred_runs(const Store& store, const StoreFolder& folder,
                                  const Words& references) {
  if (references.empty()) return store.runs();
  std::vector<RunRow> rows;  // each once, in the order in which they are named
  std::set<int64_t> taken;
  const auto take = [&](RunRow row) {
    if (taken.insert(row.id).second) rows.push_back(std::move(row));
  };
  for (const std::string& reference : references) {
    const auto named = store.runs(reference);
    for (const RunRow& row : named) take(row);
    if (named.empty()) take(find_run(store, folder, reference));
  }
  return rows;
}

std::vector<ReportedRun> all_runs(const Store& store, const StoreFolder& folder,
                                  std::vector<RunRow> rows) {
  const auto val_loss = store.series_by_run("val/loss");
  const auto train_loss = store.series_by_run("train/loss");
  const auto of = [](const auto& series, int64_t run) -> std::optional<SeriesRow> {
    const auto found = series.find(run);
    return found == series.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<ReportedRun> runs;
  for (RunRow& row : rows) {
    const int64_t id = row.id;
    runs.push_back(
        {observed(store, folder, std::move(row)), {}, of(val_loss, id), of(train_loss, id)});
  }
  return runs;
}

ReportedRun reported_run(const Store& store, RunRow run) {
  const auto all = store.series(run.id);
  const int64_t id = run.id;
  return {std::move(run), store.parameters(id), series_named(all, "val/loss"),
          series_named(all, "train/loss")};
}

void read_parameters(const Store& store, std::vector<ReportedRun>& runs) {
  std::vector<int64_t> ids;
  for (const ReportedRun& reported : runs) ids.push_back(reported.run.id);
  auto parameters = store.parameters(ids);
  for (ReportedRun& reported : runs) reported.parameters = std::move(parameters[reported.run.id]);
}

std::vector<ReportedRun> reported_runs(const Store& store, const StoreFolder& folder,
                                       const Words& references) {
  auto runs = all_runs(store, folder, referred_runs(store, folder, references));
  read_parameters(store, runs);
  return runs;
}

namespace {

using Runs = std::vector<ReportedRun>;

[[noreturn]] void refuse(const std::string& said, const std::string& reason) {
  throw Error("command line: " + said + ": " + reason, ExitCode::bad_recipe);
}

std::optional<RunValues> column_of_ls(const Runs& runs, const std::string& name) {
  const ResultTable table = ls_table(runs, now_ms());
  const auto column = find_column(table, name);
  if (!column) return std::nullopt;
  RunValues values{{}, table.columns[*column].right};
  for (const auto& row : table.rows) values.cells.push_back(row[*column]);
  return values;
}

// An empty text is a value here.
Cell cell_of_parameter(const std::string& toml) {
  return toml == "\"\"" ? Cell::word("") : value_cell(toml);
}

RunValues parameter_of(const Store& store, const Runs& runs, const std::string& path) {
  const auto by_run = store.parameter_by_run(path);
  RunValues values;
  for (const ReportedRun& run : runs) {
    const auto value = by_run.find(run.run.id);
    values.cells.push_back(value == by_run.end() ? Cell::none() : cell_of_parameter(value->second));
  }
  return values;
}

Cell summary_cell(const SeriesRow& series, const std::string& which) {
  if (which.empty()) return series.count ? Cell::number(series.last) : Cell::none();
  if (series.count == series.non_finite) return Cell::none();
  return Cell::number(which == ".min" ? series.min : series.max);
}

std::optional<RunValues> series_of(const Store& store, const Runs& runs, const std::string& name) {
  for (const std::string which : {"", ".min", ".max"}) {
    if (!name.ends_with(which)) continue;
    const auto found = store.series_by_run(name.substr(0, name.size() - which.size()));
    if (found.empty()) continue;
    RunValues values{{}, true};
    for (const ReportedRun& run : runs) {
      const auto series = found.find(run.run.id);
      values.cells.push_back(series == found.end() ? Cell::none()
                                                   : summary_cell(series->second, which));
    }
    return values;
  }
  return std::nullopt;
}

// "lr" of "last(lr)".
std::optional<std::string> inside_of_last(const std::string& name) {
  constexpr std::string_view kLast = "last(";
  if (!name.starts_with(kLast) || !name.ends_with(')')) return std::nullopt;
  return name.substr(kLast.size(), name.size() - kLast.size() - 1);
}

// The paths that a name may mean, as overrides take it.
std::vector<std::string> paths_named(const std::string& name, std::vector<std::string> paths) {
  if (std::find(paths.begin(), paths.end(), name) != paths.end()) return {name};
  std::erase_if(paths, [&](const std::string& path) { return !path.ends_with('.' + name); });
  return preferred_paths(std::move(paths));
}

[[noreturn]] void refuse_unknown(const Store& store, const std::string& name,
                                 const std::vector<std::string>& paths, const std::string& said) {
  std::vector<std::string> names = store.series_names();
  for (std::string& column : column_names(ls_table({}, 0))) names.push_back(std::move(column));
  for (const std::string& path : paths) {
    names.push_back(path);
    names.push_back(path.substr(path.rfind('.') + 1));
  }
  const auto near = nearest(name, names);
  refuse(said, "no run has a parameter or series '" + name + "', and ls no such column" +
                   (near ? "; did you mean '" + *near + "'?" : ""));
}

[[noreturn]] void refuse_several(const Store& store, const std::string& name,
                                 std::vector<std::string> meant, const std::string& said) {
  std::string things = "parameters";
  if (!store.series_by_run(name).empty()) {
    things += " and a series";
    meant.push_back("last(" + name + ")");
  }
  refuse(said, "'" + name + "' names several " + things + ": write " + alternatives(meant));
}

}  // namespace

RunValues values_named(const Store& store, const Runs& runs, const std::string& name,
                       const std::string& said) {
  if (auto values = column_of_ls(runs, name)) return *values;
  const auto paths = store.parameter_paths();
  const auto meant = paths_named(name, paths);
  if (meant.size() > 1) refuse_several(store, name, meant, said);
  if (meant.size() == 1) return parameter_of(store, runs, meant.front());
  if (auto values = series_of(store, runs, inside_of_last(name).value_or(name))) return *values;
  refuse_unknown(store, name, paths, said);
}

std::vector<std::string> state_names() {
  std::vector<std::string> names;
  for (int state = 0; state <= static_cast<int>(RunState::pruned); ++state)
    names.emplace_back(to_string(static_cast<RunState>(state)));
  return names;
}

void require_state(const std::string& who, const std::string& name) {
  const std::vector<std::string> names = state_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  throw Error(who + ": there is no state '" + name + "' (" + list + ")", ExitCode::bad_recipe);
}

namespace {

// Of a column or series, whose values are numbers in every run. A parameter may be either.
void require_number(const Condition& condition) {
  if (condition.value.as_number()) return;
  refuse_condition(condition.text,
                   condition.key + " is a number, and '" + condition.word + "' is none");
}

std::vector<Cell> values_of(const Store& store, const std::vector<ReportedRun>& runs,
                            const Condition& condition) {
  const std::string& key = condition.key;
  if (key == "tags") refuse_condition(condition.text, "--tag WORD is how a tag is asked for");
  if (key == "state" && condition.word != "unknown")  // ls says so of a run of another host
    require_state("command line: --where '" + condition.text + "'", condition.word);
  RunValues values = values_named(store, runs, key, "--where '" + condition.text + "'");
  if (values.are_numbers) require_number(condition);
  return std::move(values.cells);
}

}  // namespace

void Where::declare(Arguments& arguments) {
  arguments.option("--where", "CONDITION", conditions,
                   "only runs that satisfy it: a parameter (lr>1e-4, optimizer.type=muon), the "
                   "last value of a series (val/loss<3.2; val/loss.min and .max for its lowest and "
                   "highest; last(lr) if a parameter has the same name) or a column of ls "
                   "(step>=500), compared with = != < <= > >=; if repeated, all must hold");
}

void Where::keep_matching(const Store& store, std::vector<ReportedRun>& runs) const {
  std::vector<Condition> parsed;
  for (const std::string& text : conditions) parsed.push_back(parse_condition(text));
  std::vector<bool> kept(runs.size(), true);
  for (const Condition& condition : parsed) {
    const auto cells = values_of(store, runs, condition);
    for (size_t i = 0; i < runs.size(); ++i) kept[i] = kept[i] && holds(condition, cells[i]);
  }
  size_t i = 0;
  std::erase_if(runs, [&](const ReportedRun&) { return !kept[i++]; });
}

}  // namespace exprun
