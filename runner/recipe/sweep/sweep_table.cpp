#include "recipe/sweep/sweep_table.h"

#include <algorithm>
#include <set>

#include "recipe/defaults/fill_defaults.h"
#include "recipe/key_path.h"
#include "recipe/merge.h"
#include "recipe/overrides.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "recipe/schema/validate.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

SweepAxis axis_of_entry(const Entry& entry) {
  const SourceSpan& where = entry.value.where;
  SweepValues values;
  if (const auto* text = entry.value.as<std::string>())
    values = parse_sweep_values(*text, [&](size_t, size_t) { return where; });
  else
    for (const Value& value : *entry.value.as<Array>())
      values.list.push_back({toml_text(value), value.where});
  if (values.list.empty() && !values.interval)
    throw RecipeError(where, "'" + entry.key + "' has no values", "add values, or remove the key");
  return make_axis(entry.key, entry.where, std::move(values));
}

void add(Diagnostics& diagnostics, const RecipeError& error) {
  diagnostics.insert(diagnostics.end(), error.diagnostics().begin(), error.diagnostics().end());
}

// What is wrong in one of them leaves the others as they are; its key is one of `wrong`.
std::vector<SweepAxis> axes_of(const Table& table, std::set<std::string>& wrong,
                               Diagnostics& mistakes) {
  std::vector<SweepAxis> axes;
  for (const Entry& entry : table.entries()) try {
      if (entry.value.is_invalid)
        wrong.insert(entry.key);
      else
        axes.push_back(axis_of_entry(entry));
    } catch (const RecipeError& error) {
      wrong.insert(entry.key);
      add(mistakes, error);
    }
  return axes;
}

// Joins the axes that a list of `sweep.zip` names; where one of them is wrong, the others go.
void zip_listed(const Value& list, const std::set<std::string>& wrong, std::vector<SweepAxis>& axes,
                Diagnostics& mistakes) {
  std::vector<SweepAxis> together;
  bool are_all_there = true;
  for (const Value& name : *list.as<Array>()) {
    const std::string& key = *name.as<std::string>();
    const auto found = std::find_if(axes.begin(), axes.end(),
                                    [&](const SweepAxis& axis) { return axis.key == key; });
    if (found != axes.end()) {
      together.push_back(std::move(*found));
      axes.erase(found);
      continue;
    }
    are_all_there = false;
    if (!wrong.contains(key))
      mistakes.push_back({name.where, "'" + key + "' is not an axis of [sweep.axes]",
                          "write the key as it is there; an axis is in only one zip"});
  }
  if (are_all_there) try {
      axes.push_back(zip_axes(together));
    } catch (const RecipeError& error) {
      add(mistakes, error);
    }
}

// Of overrides that change [sweep]: what is wrong in the others is said with every trial.
Diagnostics errors_in_sweep(const RecipeText& text, const std::vector<std::string>& whole,
                            const Diagnostics& all) {
  Diagnostics errors;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!key_of(whole[i]).starts_with("sweep.")) continue;
    const std::string name = text.override_source(i)->name;
    for (const Diagnostic& each : all)
      if (each.severity == Severity::error && each.where.file && each.where.file->name == name)
        errors.push_back(each);
  }
  return errors;
}

Extended changed_files(const RecipeText& text, const SchemaSet& schemas, Diagnostics& mistakes) {
  Diagnostics found;
  Extended extended = extend_files(text, schemas);
  const auto whole = apply_overrides(schemas, extended.root, text, found);
  mistakes = errors_in_sweep(text, whole, found);
  return extended;
}

// An integer that the recipe writes: a default is said by nobody.
std::optional<int64_t> written_integer(const Table& root, std::string_view path) {
  const Value* value = valid_at(root, path);
  if (value == nullptr || value->origin == Origin::default_value) return std::nullopt;
  return integer_at(root, path);
}

SweepSearch search_of(const Table& root) {
  return {text_at(root, "sweep.method").value_or(""),
          place_of(root, "sweep.method"),
          !is_invalid(root, "sweep.method") && !is_invalid(root, "sweep.trials"),
          text_at(root, "sweep.points").value_or(""),
          place_of(root, "sweep.points"),
          written_integer(root, "sweep.seeds"),
          written_integer(root, "sweep.trials"),
          written_integer(root, "sweep.random_seed"),
          place_of(root, "sweep.seeds"),
          place_of(root, "sweep.trials"),
          text_at(root, "sweep.early_stop.type").value_or(""),
          written_integer(root, "sweep.early_stop.reduction"),
          written_integer(root, "sweep.early_stop.min_steps"),
          place_of(root, "sweep.early_stop.min_steps")};
}

void require_a_space(const Table& root, Diagnostics& diagnostics) {
  const Entry* sweep = root.entry("sweep");
  const bool has_only_settings = sweep->value.origin == Origin::command_line;  // "trials=24"
  const Table* const table = sweep->value.as<Table>();
  if (table == nullptr || has_only_settings || table->removed_at("axes")) return;
  for (const char* key : {"axes", "points", "seeds"})
    if (table->find(key) != nullptr) return;
  diagnostics.push_back({sweep->where, "[sweep] needs 'axes'",
                         "the keys to sweep over and their values, below [sweep.axes]"});
}

}  // namespace

bool has_sweep(const RecipeText& text, const SchemaSet& schemas) {
  Diagnostics ignored;
  return changed_files(text, schemas, ignored).root.find("sweep") != nullptr;
}

std::optional<Sweep> read_sweep(const RecipeText& text, const SchemaSet& schemas) {
  Sweep sweep;
  Extended extended = changed_files(text, schemas, sweep.mistakes);
  if (extended.root.find("sweep") == nullptr)
    return sweep.mistakes.empty() ? std::nullopt : std::optional(std::move(sweep));
  Diagnostics diagnostics;
  validate(schemas, extended.root, diagnostics);
  // The rest of the recipe is checked with every trial, and so are the keys of the axes.
  diagnostics.clear();
  validate_table(schemas, extended.root, "sweep", diagnostics);
  require_a_space(extended.root, diagnostics);
  fill_defaults(schemas, extended.root, {}, text.files.front()->name);
  add_chains(text, extended, diagnostics);
  std::set<std::string> wrong;
  if (const Value* axes = valid_at(extended.root, "sweep.axes"))
    sweep.axes = axes_of(*axes->as<Table>(), wrong, diagnostics);
  if (const Value* zips = valid_at(extended.root, "sweep.zip");
      zips && !is_invalid(extended.root, "sweep.axes"))
    for (const Value& list : *zips->as<Array>()) zip_listed(list, wrong, sweep.axes, diagnostics);
  sweep.search = search_of(extended.root);
  sweep.metric = text_at(extended.root, "sweep.metric").value_or("");
  sweep.metric_where = place_of(extended.root, "sweep.metric");
  sweep.goal = text_at(extended.root, "sweep.goal").value_or("");
  sweep.summary = text_at(extended.root, "sweep.summary").value_or("");
  sweep.mistakes.insert(sweep.mistakes.end(), diagnostics.begin(), diagnostics.end());
  return sweep;
}

}  // namespace exprun
