#include "recipe/overrides.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/strings.h"
#include "base/utf8.h"
#include "recipe/key_path.h"
#include "recipe/merge.h"
#include "recipe/override_value.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/table_schema.h"

namespace exprun {
namespace {

struct Override {
  std::shared_ptr<const SourceFile> file;
  std::string key;
  SourceSpan key_where;
  size_t value_begin = 0;
  size_t number = 0;          // among all, from 0
  bool is_found_out = false;  // it says more exactly what is there already
  enum class Form { sets, adds, removes } form = Form::sets;  // key=value, +key=value, ~key
};

// What is to say when an override is none of the three forms.
std::optional<std::string> form_problem(const Override& override_, bool has_value) {
  const bool removes = override_.form == Override::Form::removes;
  if (override_.key.empty() || (!removes && !has_value)) return "write key=value or ~key";
  if (!removes && override_.key.starts_with('+')) return "write key=value, which needs no '++'";
  if (removes && has_value) return "~key resets the key to its default and takes no value";
  return std::nullopt;
}

std::optional<Override> split(const std::shared_ptr<const SourceFile>& file, size_t number,
                              Diagnostics& diagnostics) {
  const std::string& text = file->text;
  Override result;
  result.file = file;
  result.number = number;
  if (const auto broken = first_invalid_byte(text)) {
    diagnostics.push_back({span_of(result.file, *broken, 1), "this is not UTF-8"});
    return std::nullopt;
  }
  if (text.starts_with("~")) result.form = Override::Form::removes;
  if (text.starts_with("+")) result.form = Override::Form::adds;
  const size_t key_begin = result.form == Override::Form::sets ? 0 : 1;
  const size_t equals = text.find('=');
  const size_t key_end = std::max(key_begin, std::min(equals, text.size()));
  result.key = trimmed(std::string_view(text).substr(key_begin, key_end - key_begin));
  result.key_where = span_of(result.file, key_begin, result.key.size());
  const bool has_value = equals != std::string::npos;
  result.value_begin =
      has_value ? std::min(text.find_first_not_of(' ', equals + 1), text.size()) : 0;
  const auto problem = form_problem(result, has_value);
  if (!problem) return result;
  diagnostics.push_back({result.key_where, "this is not an override", *problem});
  return std::nullopt;
}

// The one path that the key of an override means.
std::optional<std::string> path_of(const SchemaSet& schemas, const Table& root,
                                   const Override& override_, Diagnostics& diagnostics) {
  if (override_.key == "extends" || override_.key == "version") {
    diagnostics.push_back({override_.key_where,
                           "'" + override_.key + "' is allowed only in a recipe file",
                           "write it above the first table"});
    return std::nullopt;
  }
  const std::vector<std::string> matches = matching_paths(schemas, root, override_.key);
  if (matches.size() == 1) return matches.front();
  if (matches.size() > 1)
    diagnostics.push_back({override_.key_where, "'" + override_.key + "' names several keys",
                           "write " + alternatives(matches)});
  else
    diagnostics.push_back({override_.key_where, "unknown key '" + override_.key + "'",
                           suggest_path(schemas, root, override_.key)});
  return std::nullopt;
}

// '+' is for what only the user names: an evaluation, a group of the optimizer.
bool may_add(const SchemaSet& schemas, const Table& root, const Override& override_,
             const std::string& path, Diagnostics& diagnostics) {
  if (override_.form != Override::Form::adds || is_user_named(schemas, root, path)) return true;
  const std::string what = find_path(root, path) != nullptr
                               ? "'" + override_.key + "' already exists"
                               : "'+' adds only what has a name of its own, such as an evaluation";
  diagnostics.push_back({override_.key_where, what, "write it without the '+'"});
  return false;
}

// The tables above a path, made where they are missing.
Table* table_for(Table& root, const std::vector<std::string>& parts, const Override& override_,
                 Diagnostics& diagnostics) {
  Table* table = &root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    Value* value = table->find(parts[i]);
    if (value == nullptr)
      value = &table->set(parts[i], override_.key_where,
                          Value(Table(), override_.key_where, Origin::command_line));
    table = value->as<Table>();
    if (table != nullptr) continue;
    diagnostics.push_back({override_.key_where, "'" + parts[i] + "' is not a table in the recipe"});
    return nullptr;
  }
  return table;
}

void remove(Table& root, const std::string& path, const SourceSpan& where) {
  const std::string parent = parent_path(path);
  if (parent.empty()) return root.remove(last_part(path), where);
  Value* table = find_path(root, parent);
  if (table != nullptr && table->as<Table>() != nullptr)
    table->as<Table>()->remove(last_part(path), where);
}

// The first that a table declares, or one that only the user names.
std::string key_of_table(const Schema& schema) {
  const Schema keys = schema.value("properties", Schema::object());
  if (!keys.empty()) return keys.begin().key();
  const auto named = schema.find("additionalProperties");
  return named != schema.end() && is_table(*named) ? "NAME.KEY" : "NAME";
}

// Hydra's `optimizer=adamw` is not our grammar, but what is meant is clear.
std::string table_help(const SchemaSet& schemas, const std::string& path, const Schema& schema,
                       const Value& value) {
  if (says_none(value) && is_optional_table(schemas, {}, path)) return help_without_table(path);
  if (const auto* text = value.as<std::string>()) {
    if (const auto meant = meant_key(schemas, path, schema, *text))
      return "did you mean " + path + "." + meant->key + "=" + meant->value + "?";
    const auto types = schemas.types(path);
    if (!types.empty()) return path + ".type can be " + alternatives(types);
  }
  return "set its keys one by one: " + path + "." + key_of_table(schema) + "=...";
}

// What decides which keys there are, and everything else.
enum class Part { types, rest };

bool is_type(const Entry& entry) {
  return entry.key == "type" && entry.value.as<std::string>() != nullptr;
}

// Of a table as an override gives it.
Table part_of(const Table& table, Part part) {
  Table kept;
  kept.where = table.where;
  for (const Entry& entry : table.entries()) {
    Entry copy = entry;
    Table* inner = copy.value.as<Table>();
    if (inner != nullptr) *inner = part_of(*inner, part);
    const bool has_types = inner != nullptr ? !inner->entries().empty() : is_type(entry);
    if (part == Part::types ? has_types : !is_type(entry))
      kept.entries().push_back(std::move(copy));
  }
  return kept;
}

bool is_type_alone(const Override& override_) {
  return override_.form != Override::Form::removes && override_.key.ends_with(".type");
}

bool is_inline_table(const Override& override_) {
  return override_.form != Override::Form::removes &&
         std::string_view(override_.file->text).substr(override_.value_begin).starts_with('{');
}

// Nobody wrote what was found out: mistakes are told where the user wrote what it stands for.
void keep_place(const Table& root, const std::string& path, SourceSpan& key_where, Value& value) {
  const Value* table = find_path(root, parent_path(path));
  const Table* parent = table == nullptr ? nullptr : table->as<Table>();
  const Entry* written = parent == nullptr ? nullptr : parent->entry(last_part(path));
  if (written == nullptr) return;
  key_where = written->where;
  value.where = written->value.where;
  value.origin = written->value.origin;
}

void set_value(const SchemaSet& schemas, Table& root, const Override& override_,
               const std::string& path, Part part, Diagnostics& diagnostics) {
  const std::vector<std::string> parts = split_path(path);
  const Schema& schema = *schema_at(schemas, root, path);
  Diagnostics found;
  std::optional<Value> value =
      read_override_value(override_.file, override_.value_begin, schema, found);
  const bool is_read_again = part == Part::types && !is_type_alone(override_);
  if (!is_read_again) diagnostics.insert(diagnostics.end(), found.begin(), found.end());
  if (!value || has_errors(found)) return;
  if (is_table(schema) && value->as<Table>() == nullptr) {
    diagnostics.push_back(
        {value->where, "'" + path + "' is a table", table_help(schemas, path, schema, *value)});
    return;
  }
  if (Table* table = value->as<Table>()) {
    *table = part_of(*table, part);
    if (part == Part::types && table->entries().empty()) return;
  } else if (part == Part::types && parts.back() != "type") {
    return;  // a text that begins like a table
  }
  SourceSpan key_where = override_.key_where;
  if (override_.is_found_out) keep_place(root, path, key_where, *value);
  Table over;  // a chain of tables that ends in the value, merged like a child recipe
  Table* at = table_for(over, parts, override_, diagnostics);
  if (at == nullptr || table_for(root, parts, override_, diagnostics) == nullptr) return;
  at->set(parts.back(), key_where, std::move(*value));
  merge(schemas, root, std::move(over), diagnostics);
}

// "lr=3" as "optimizer.lr=3".
std::string with_path(const Override& override_, const std::string& path) {
  const std::string& text = override_.file->text;
  const std::string sign = override_.form == Override::Form::sets ? "" : text.substr(0, 1);
  const bool has_value = override_.form != Override::Form::removes;
  return sign + path + (has_value ? text.substr(text.find('=')) : "");
}

// Returns the override with the whole path of its key, or nothing if it means none.
std::optional<std::string> apply(const SchemaSet& schemas, Table& root, const Override& override_,
                                 Part part, Diagnostics& diagnostics) {
  const auto path = path_of(schemas, root, override_, diagnostics);
  if (!path || !may_add(schemas, root, override_, *path, diagnostics)) return std::nullopt;
  if (override_.form == Override::Form::removes)
    remove(root, *path, override_.key_where);
  else
    set_value(schemas, root, override_, *path, part, diagnostics);
  return with_path(override_, *path);
}

std::optional<std::string> apply_types(const SchemaSet& schemas, Table& root,
                                       const Override& override_, Diagnostics& diagnostics) {
  if (!is_type_alone(override_) && !is_inline_table(override_)) return std::nullopt;
  Diagnostics found;
  auto whole = apply(schemas, root, override_, Part::types, found);
  // The rest of a table is read again, and its mistakes are found then.
  if (is_type_alone(override_) || !has_errors(found))
    diagnostics.insert(diagnostics.end(), found.begin(), found.end());
  return whole;
}

// A change of type may take away the key that is removed: nobody is to be warned that it is
// ignored. `removed`: the paths that overrides before it have removed. Returns the override with
// the whole path of its key, or nothing where it removes no value yet.
std::optional<std::string> remove_before_types(const SchemaSet& schemas, Table& root,
                                               const Override& override_,
                                               std::set<std::string>& removed) {
  if (override_.form != Override::Form::removes) return std::nullopt;
  const std::vector<std::string> matches = matching_paths(schemas, root, override_.key);
  if (matches.size() != 1 || last_part(matches.front()) == "type") return std::nullopt;
  const std::string& path = matches.front();
  const Value* value = find_path(root, path);
  const bool is_there = value != nullptr && value->as<Table>() == nullptr;
  if (!is_there && !removed.contains(path)) return std::nullopt;
  remove(root, path, override_.key_where);
  removed.insert(path);
  return with_path(override_, path);
}

// A key that an override sets, by itself or in an inline table.
struct Setting {
  const Override* by = nullptr;
  std::string path;
  std::string key;  // as typed; the path of one in a table
  SourceSpan where;
};

// Those of an inline table, and of tables in it.
void add_settings(const SchemaSet& schemas, const Table& root, const Override& override_,
                  const Table& table, const std::string& table_path,
                  std::vector<Setting>& settings) {
  for (const Entry& entry : table.entries()) {
    const std::string path = join_path(table_path, entry.key);
    const Schema* schema = schema_at(schemas, root, path);
    if (schema == nullptr) continue;
    if (!is_table(*schema))
      settings.push_back({&override_, path, path, entry.where});
    else if (const Table* inner = entry.value.as<Table>())
      add_settings(schemas, root, override_, *inner, path, settings);
  }
}

std::vector<Setting> settings_of(const SchemaSet& schemas, const Table& root,
                                 const Override& override_, const std::string& path) {
  const Schema* schema = schema_at(schemas, root, path);
  if (schema == nullptr) return {};
  if (!is_table(*schema)) return {{&override_, path, override_.key, override_.key_where}};
  Diagnostics told_before;
  const auto value =
      read_override_value(override_.file, override_.value_begin, *schema, told_before);
  std::vector<Setting> settings;
  if (const Table* table = value ? value->as<Table>() : nullptr)
    add_settings(schemas, root, override_, *table, path, settings);
  return settings;
}

Diagnostic no_effect(const Setting& last, const Setting& before, const std::string& why) {
  std::string typed = before.by->file->text;
  std::replace(typed.begin(), typed.end(), '\n', ' ');
  const std::string in = before.key == before.by->key ? "" : "'" + before.key + "' in ";
  return warning(last.where, why + "; this one takes effect", in + "'" + typed + "' has no effect");
}

// Only the last counts, of a key and of two that exclude each other: a script may put changes after
// its own, a person hardly means it. What follows a ~key is not in vain.
void warn_of_repeated(const SchemaSet& schemas, const Table& root, const RecipeText& text,
                      const std::vector<Override>& parsed, const std::vector<std::string>& whole,
                      Diagnostics& diagnostics) {
  std::map<std::string, Setting> known;  // by path
  for (const Override& next : parsed) {
    if (!text.is_typed(next.number)) continue;
    const size_t sign = next.form == Override::Form::sets ? 0 : 1;
    const std::string path = whole[next.number].substr(sign, whole[next.number].find('=') - sign);
    if (next.form == Override::Form::removes) {
      std::erase_if(known, [&](const auto& each) {
        return each.first == path || each.first.starts_with(path + '.');
      });
      continue;
    }
    for (const Setting& setting : settings_of(schemas, root, next, path)) {
      const auto other = known.find(alternative_to(schemas, root, setting.path));
      if (other != known.end() && other->second.by != &next) {
        diagnostics.push_back(
            no_effect(setting, other->second,
                      "'" + setting.key + "' and '" + other->second.key + "' exclude each other"));
        known.erase(other);
      }
      const auto [before, is_new] = known.try_emplace(setting.path, setting);
      if (!is_new)
        diagnostics.push_back(
            no_effect(setting, before->second, "'" + setting.key + "' is given twice"));
      before->second = setting;
    }
  }
}

// By what set or removed a key last: a file or nothing, an override that was not typed, one that
// was.
int newness(const Table& root, const std::string& path) {
  const Value* value = find_path(root, path);
  std::optional<SourceSpan> where;
  if (value != nullptr && value->where) {
    where = value->where;
  } else {
    const std::string parent = parent_path(path);
    const Value* outer = find_path(root, parent);
    const Table* table = parent.empty() ? &root : outer == nullptr ? nullptr : outer->as<Table>();
    if (table != nullptr) where = table->removed_at(last_part(path));
  }
  if (!where || !*where) return 0;
  const SourceFile::Kind kind = where->file->kind;
  return kind == SourceFile::Kind::typed_override ? 2 : kind == SourceFile::Kind::file ? 0 : 1;
}

}  // namespace

std::string newest_of(const Table& root, const std::vector<std::string>& paths) {
  return *std::max_element(paths.begin(), paths.end(), [&](const auto& a, const auto& b) {
    return newness(root, a) < newness(root, b);
  });
}

std::vector<std::string> apply_overrides(const SchemaSet& schemas, Table& root,
                                         const RecipeText& text, Diagnostics& diagnostics) {
  std::vector<Override> parsed;
  for (size_t i = 0; i < text.overrides.size(); ++i)
    if (auto next = split(text.override_source(i), i, diagnostics)) {
      next->is_found_out = i + text.found_out >= text.overrides.size();
      parsed.push_back(std::move(*next));
    }
  std::vector<std::string> all = text.overrides;
  const auto keep = [&](const Override& next, std::optional<std::string> whole) {
    if (whole) all[next.number] = std::move(*whole);
  };
  std::set<std::string> paths;
  std::set<size_t> removed;
  for (const Override& next : parsed)
    if (auto whole = remove_before_types(schemas, root, next, paths)) {
      keep(next, std::move(whole));
      removed.insert(next.number);
    }
  for (const Override& next : parsed) keep(next, apply_types(schemas, root, next, diagnostics));
  for (const Override& next : parsed) {
    const bool is_gone =
        removed.contains(next.number) && matching_paths(schemas, root, next.key).empty();
    if (!is_type_alone(next) && !is_gone)
      keep(next, apply(schemas, root, next, Part::rest, diagnostics));
  }
  warn_of_repeated(schemas, root, text, parsed, all, diagnostics);
  return all;
}

}  // namespace exprun
