#include "control/command/stored/run_values.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/clock.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/report/series_advice.h"
#include "recipe/key_path.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/key_synonyms.h"
#include "recipe/schema/table_schema.h"
#include "recipe/schema/validate_value.h"

namespace exprun {
namespace {

using Runs = std::vector<ReportedRun>;
using Which = ValueName::Which;

// An empty text is a value here.
Cell cell_of_parameter(const std::string& toml) {
  return toml == "\"\"" ? Cell::word("") : value_cell(toml);
}

// In the order of `runs`, from what a store tells by run.
template <typename ByRun, typename MakeCell>
RunValues in_order_of(const Runs& runs, const ByRun& by_run, bool are_numbers, MakeCell&& cell) {
  RunValues values{{}, are_numbers};
  values.cells.reserve(runs.size());
  for (const ReportedRun& run : runs) {
    const auto found = by_run.find(run.run.id);
    values.cells.push_back(found == by_run.end() ? Cell::none() : cell(found->second));
  }
  return values;
}

// The series of this name, or the only one that is written so: val_loss for val/loss.
std::string series_named(const Store& store, const std::string& name) {
  std::vector<std::string> names = store.series_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  std::erase_if(names, [&](const std::string& series) { return !is_written_as(series, name); });
  return names.size() == 1 ? names.front() : name;
}

// The highest value of a series with an infinite one is infinite, and the lowest of one with its
// negative; that of one whose only values with an order are infinities of the other sign is these.
// NaN has no order and is neither.
void add_infinities(RunValues& values, const Store& store, const Runs& runs,
                    const ValueName& name) {
  if (name.which != Which::min && name.which != Which::max) return;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double outermost = name.which == Which::max ? kInfinity : -kInfinity;
  for (const double infinity : {outermost, -outermost}) {
    const auto with_it = store.runs_with_infinity(name.name, infinity);
    for (size_t i = 0; i < runs.size(); ++i)
      if (with_it.contains(runs[i].run.id) && (infinity == outermost || values.cells[i].is_none()))
        values.cells[i] = Cell::number(infinity);
  }
}

// Nothing if no run has such a series.
std::optional<RunValues> series_values(const Store& store, const Runs& runs, ValueName name) {
  name.name = series_named(store, name.name);
  const auto series = store.series_by_run(name.name);
  if (series.empty()) return std::nullopt;
  RunValues values = name.which == Which::at
                         ? in_order_of(runs, store.values_at(name.name, name.step), true,
                                       [&](double value) { return series_cell(name.name, value); })
                         : in_order_of(runs, series, true, [&](const SeriesRow& row) {
                             return summary_cell(row, name.which);
                           });
  add_infinities(values, store, runs, name);
  values.series = name.name;
  return values;
}

// The paths that a name may mean, as overrides take it.
std::vector<std::string> paths_named(const std::string& name, std::vector<std::string> paths) {
  if (std::find(paths.begin(), paths.end(), name) != paths.end()) return {name};
  std::erase_if(paths, [&](const std::string& path) { return !path.ends_with('.' + name); });
  return preferred_paths(std::move(paths));
}

// The same of some runs: the paths that one of them has, if any has one.
std::vector<std::string> paths_named(const std::string& name, const std::vector<std::string>& paths,
                                     const Store& store, const Runs& runs) {
  const std::vector<std::string> all = paths_named(name, paths);
  if (all.size() < 2) return all;
  std::vector<std::string> theirs;
  for (const std::string& path : all) {
    const auto values = store.parameter_by_run(path);
    if (std::ranges::any_of(runs, [&](const auto& run) { return values.contains(run.run.id); }))
      theirs.push_back(path);
  }
  return theirs.empty() ? all : theirs;
}

// What the values of a key are where they can be no numbers: "a duration"; empty for all others,
// and for keys of other versions.
std::string no_number_at(const std::string& path) {
  const Schema* const schema = schema_at(SchemaSet::embedded(), {}, path);
  if (schema == nullptr || allows_type(*schema, "number") || allows_type(*schema, "integer"))
    return "";
  if (schema->contains("x-period")) return "a duration";
  if (allows_type(*schema, "boolean")) return "a boolean";
  return allows_type(*schema, "string") ? "a text" : "a list";
}

// Of a key that a recipe may have, and no run's has; nothing for any other name.
std::optional<RunValues> values_of_unused_key(const Runs& runs, const std::string& name) {
  const SchemaSet& schemas = SchemaSet::embedded();
  const auto paths = matching_paths(schemas, {}, name);
  if (paths.empty() || is_table(*schema_at(schemas, {}, paths.front()))) return std::nullopt;
  static std::set<std::string> said;  // once: a page that is rewritten asks again and again
  if (said.insert(name).second) log_info("no run has the setting '" + name + "'");
  RunValues none{std::vector<Cell>(runs.size())};
  none.no_number = no_number_at(paths.front());
  return none;
}

// The path or series that a word of other tools, or the last part of a series, stands for; else the
// nearest of all.
std::string meant(const std::string& name, const std::vector<std::string>& names) {
  const auto is_one = [&](const std::string& other) {
    return std::find(names.begin(), names.end(), other) != names.end();
  };
  if (const KeySynonym* synonym = key_synonym(name); synonym && is_one(synonym->path))
    return "did you mean '" + std::string(synonym->path) + "'?";
  if (is_one(name + ".type")) return "did you mean '" + name + ".type'?";
  const std::string others = series_meant(name, names);
  return others.empty() ? "" : "did you mean " + others + "?";
}

void add_parameters(std::vector<std::string>& names, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    names.push_back(path);
    names.push_back(path.substr(path.rfind('.') + 1));
  }
}

// "val/loss:mean", where there is a val/loss.
void refuse_unknown_value(const std::string& name, const std::vector<std::string>& series,
                          const SourceSpan& where) {
  const size_t colon = name.rfind(':');
  if (colon == name.npos ||
      std::find(series.begin(), series.end(), name.substr(0, colon)) == series.end())
    return;
  throw RecipeError(where, "'" + name.substr(colon + 1) + "' does not select a value of a series",
                    "write last, min, max or at(STEP) after the colon");
}

std::string advice_on_name(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = meant(name, names);
  return near.empty()
             ? "`exprun ls --columns help` lists the columns, `exprun show RUN` the settings"
             : near;
}

[[noreturn]] void refuse_unknown(const Store& store, const std::string& name,
                                 const std::vector<std::string>& paths, const SourceSpan& where) {
  if (where.file->name == "--sort" && name.starts_with('-') && name.size() > 1)
    throw RecipeError(where, "there is no column '" + name + "'",
                      "write --sort " + name.substr(1) + " --reverse");
  if (where.file->name == "--where" && name == "tag")
    throw RecipeError(where, "a run may have several tags", kHowToAskForTag);
  std::vector<std::string> names = store.series_names();
  refuse_unknown_value(name, names, where);
  for (std::string& column : column_names(ls_table({}, 0))) names.push_back(std::move(column));
  add_parameters(names, paths);
  throw RecipeError(where, "there is no setting, series or ls column '" + name + "'",
                    parse_number<double>(name)
                        ? "write the name to the left of the operator, as in lr>1e-4"
                        : advice_on_name(name, names));
}

[[noreturn]] void refuse_several(const Store& store, const std::string& name,
                                 std::vector<std::string> paths, const SourceSpan& where) {
  std::string things = "settings";
  if (!store.series_by_run(name).empty()) {
    things += " and a series";
    paths.push_back("last(" + name + ")");
  }
  throw RecipeError(where, "'" + name + "' names several " + things,
                    "write " + alternatives(paths));
}

// Of a column of ls: where a run has no tag or message its cell is an empty word.
RunValues recorded(RunValues column) {
  for (Cell& cell : column.cells)
    if (const auto* word = std::get_if<std::string>(&cell.value); word && word->empty())
      cell = Cell::none();
  return column;
}

}  // namespace

std::shared_ptr<const SourceFile> source_of(const std::string& option, const std::string& text) {
  return std::make_shared<SourceFile>(SourceFile{option, text});
}

std::vector<Extent> parts_of_list(const std::string& list) {
  std::vector<Extent> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size() && list[at] == '(') ++depth;
    if (at < list.size() && list[at] == ')') --depth;
    if (at < list.size() && (list[at] != ',' || depth > 0)) continue;
    const std::string_view part = trimmed(std::string_view(list).substr(begin, at - begin));
    if (!part.empty())
      parts.push_back({static_cast<size_t>(part.data() - list.data()), part.size()});
    begin = at + 1;
  }
  return parts;
}

std::string text_of(const SourceFile& source, Extent part) {
  return source.text.substr(part.begin, part.size);
}

std::optional<std::string> path_of_parameter(const Store& store, const std::string& name) {
  const auto found = paths_named(name, store.parameter_paths());
  if (found.size() != 1) return std::nullopt;
  return found.front();
}

RunValues parameter_values(const Store& store, const Runs& runs, const std::string& path) {
  RunValues values = in_order_of(runs, store.parameter_by_run(path), false, cell_of_parameter);
  values.no_number = no_number_at(path);
  return values;
}

Setting setting_named(const Store& store, const Runs& runs, const std::string& name,
                      const SourceSpan& where) {
  const auto paths = store.parameter_paths();
  const auto found = paths_named(name, paths, store, runs);
  if (found.size() > 1) refuse_several(store, name, found, where);
  if (found.size() == 1) return {found.front(), parameter_values(store, runs, found.front())};
  if (auto values = values_of_unused_key(runs, name)) return {name, std::move(*values)};
  std::vector<std::string> names;
  add_parameters(names, paths);
  for (std::string& column : column_names(ls_table({}, 0))) names.push_back(std::move(column));
  const std::string near = meant(name, names);
  throw RecipeError(
      where, "no run has a setting '" + name + "'",
      !near.empty() ? near : "give settings (lr) or columns of ls (state, name, sweep)");
}

RunValues values_of(const Store& store, const Runs& runs, const ValueName& name,
                    const SourceSpan& where) {
  if (name.which == Which::plain) {
    if (auto column = ls_cells(runs, name.name, now_ms())) return recorded(std::move(*column));
    const auto paths = store.parameter_paths();
    const auto found = paths_named(name.name, paths, store, runs);
    if (found.size() > 1) refuse_several(store, name.name, found, where);
    if (found.size() == 1) return parameter_values(store, runs, found.front());
    if (auto values = series_values(store, runs, name)) return *values;
    if (auto values = values_of_unused_key(runs, name.name)) return *values;
    refuse_unknown(store, name.name, paths, where);
  }
  if (auto values = series_values(store, runs, name)) return *values;
  const std::vector<std::string> series = store.series_names();
  refuse_unknown_value(name.name, series, where);
  const std::string remedy = meant(name.name, series);
  throw RecipeError(where, "no run has a series '" + name.name + "'",
                    remedy.empty() ? advice_on_series(name.name, series) : remedy);
}

void Where::declare(Arguments& arguments) {
  arguments
      .option(
          "--where", "EXPR", expressions,
          "only runs for which EXPR is true: compare settings (lr, optimizer.type), series "
          "(val/loss) and columns of ls (state, step) with = != < <= > >=, in [a, b, c] (any of "
          "these) or ~ PATTERN (* and ? are wildcards); combine with and, or, not and parentheses; "
          "if repeated, all must be true")
      .note(
          "In EXPR, the name of a series means its last value; for other values, write "
          "min(val/loss), max(val/loss) or at(val/loss, 100); min and max leave out NaN. tag(WORD) "
          "is true if the "
          "run has that tag, and has(NAME) if a value of NAME is recorded for it. If a setting and "
          "a series have the same name, the setting is used; last(lr) means the series. The column "
          "'started' is compared with UTC dates; a date without a time means the whole day, month "
          "or year: started >= 2026-11-01. A comparison with a value that a run does not have is "
          "false.");
}

void Where::keep_matching(const Store& store, std::vector<ReportedRun>& runs) const {
  std::vector<bool> kept(runs.size(), true);
  for (const std::string& text : expressions) {
    const auto source = source_of("--where", text);
    const RunFacts facts{
        [&](const ValueName& name) {
          return values_of(store, runs, name, span_of(source, name.where.begin, name.where.size));
        },
        [&](size_t run, const std::string& tag) { return has_tag(runs[run].run, tag); },
        shown_state_names()};
    const auto held = holds(parse_expression(source), source, runs.size(), facts);
    for (size_t i = 0; i < runs.size(); ++i) kept[i] = kept[i] && held[i];
  }
  size_t i = 0;
  std::erase_if(runs, [&](const ReportedRun&) { return !kept[i++]; });
}

}  // namespace exprun
