// Every key of every shipped recipe, in its parents too, is deleted, renamed, retyped and broken in
// range: each mistake is reported at its line and column, and a rename by a letter or two gets the
// right suggestion.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/utf8.h"
#include "recipe/key_path.h"
#include "recipe/schema/table_schema.h"
#include "recipe/schema/validate_value.h"
#include "recipe/toml/parse.h"
#include "recipes.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

struct Key {
  std::string path;
  Entry entry;
  Schema schema;
  bool required = false;
};

// What no schema requires, but a rule.
const std::set<std::string> kNeededByRules = {"run.steps", "run.length", "batch.tokens",
                                              "batch.sequences", "optimizer.type"};

// Those in recipes/base are parents, and no whole recipes.
std::vector<fs::path> recipes_that(bool sweep) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator("recipes")) {
    const fs::path& file = entry.path();
    if (file.extension() != ".toml" || file.parent_path() == "recipes/base") continue;
    const bool sweeps = read_recipe(file, {}).files[0]->text.find("\n[sweep]") != std::string::npos;
    if (sweeps == sweep) files.push_back(file);
  }
  REQUIRE(!files.empty());
  return files;
}

std::vector<fs::path> shipped_recipes() {
  return recipes_that(false);
}

// What the tables of a recipe may hold; a parent may have picked their types.
std::map<std::string, TableSchema> schemas_of(const RecipeText& text) {
  std::map<std::string, TableSchema> schemas;
  Table root = resolve(text).root();
  visit_tables(SchemaSet::embedded(), root,
               [&](const TablePlace& place) { schemas.emplace(place.path, place.schema); });
  return schemas;
}

void collect_keys(const std::map<std::string, TableSchema>& schemas, const std::string& path,
                  const Table& table, std::vector<Key>& keys) {
  for (const Entry& entry : table.entries()) {
    const std::string inner = join_path(path, entry.key);
    if (const Table* next = entry.value.as<Table>())
      if (schemas.contains(inner)) collect_keys(schemas, inner, *next, keys);
    if (path.empty() || entry.value.as<Table>() != nullptr) continue;
    const TableSchema& schema = schemas.at(path);
    const std::vector<std::string>& required = schema.required();
    const bool needed = std::find(required.begin(), required.end(), entry.key) != required.end();
    keys.push_back({inner, entry, *schema.find(entry.key), needed});
  }
}

// Those that one file writes, in its tables.
std::vector<Key> keys_of(const RecipeText& text, const std::shared_ptr<const SourceFile>& file) {
  Diagnostics diagnostics;
  std::vector<Key> keys;
  const auto root = parse_toml(file, Origin::file, diagnostics);
  collect_keys(schemas_of(text), "", *root, keys);
  return keys;
}

size_t byte_of(const SourceSpan& span) {
  size_t byte = 0;
  for (uint32_t line = 1; line < span.line; ++line) byte = span.file->text.find('\n', byte) + 1;
  const auto points = code_points(std::string_view(span.file->text).substr(byte));
  for (uint32_t i = 0; i + 1 < span.column; ++i) byte += points[i].bytes.size();
  return byte;
}

RecipeText with_text(RecipeText text, const SourceSpan& span, const std::string& changed) {
  for (auto& file : text.files)
    if (file == span.file) file = std::make_shared<SourceFile>(SourceFile{file->name, changed});
  return text;
}

RecipeText replaced(const RecipeText& text, const SourceSpan& span, const std::string& by) {
  std::string changed = span.file->text;
  return with_text(text, span, changed.replace(byte_of(span), span.length, by));
}

RecipeText without_line(const RecipeText& text, const SourceSpan& span) {
  std::string changed = span.file->text;
  const size_t begin = byte_of({span.file, span.line, 1, 1});
  return with_text(text, span, changed.erase(begin, changed.find('\n', begin) + 1 - begin));
}

// Whether the file says something about the key.
bool has_key(const std::shared_ptr<const SourceFile>& file, const std::string& path) {
  Diagnostics diagnostics;
  return find_path(*parse_toml(file, Origin::file, diagnostics), path) != nullptr;
}

bool is_elsewhere(const RecipeText& text, const Key& key) {
  return std::any_of(text.files.begin(), text.files.end(), [&](const auto& file) {
    return file != key.entry.where.file && has_key(file, key.path);
  });
}

// A nearer file has it too: what this one says is not used, and not judged.
bool is_replaced(const RecipeText& text, const Key& key) {
  const auto own = std::find(text.files.begin(), text.files.end(), key.entry.where.file);
  return std::any_of(text.files.begin(), own,
                     [&](const auto& file) { return has_key(file, key.path); });
}

// Of a table: in the nearest file that has one.
SourceSpan header_of(const RecipeText& text, const std::string& table) {
  for (const auto& file : text.files) {
    Diagnostics diagnostics;
    const auto root = parse_toml(file, Origin::file, diagnostics);
    const Value* outer = find_path(*root, parent_path(table));
    const Table* above = parent_path(table).empty() ? &*root
                         : outer == nullptr         ? nullptr
                                                    : outer->as<Table>();
    if (const Entry* entry = above == nullptr ? nullptr : above->entry(last_part(table)))
      return entry->where;
  }
  return {};
}

Diagnostics diagnostics_of(const RecipeText& text) {
  try {
    return resolve(text).warnings();
  } catch (const RecipeError& error) {
    return error.diagnostics();
  }
}

// A diagnostic at a place whose message and help contain the words.
bool reports(const Diagnostics& diagnostics, const SourceSpan& at, const std::string& message,
             const std::string& help = "") {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) {
    return d.where.file->name == at.file->name && d.where.line == at.line &&
           d.where.column == at.column && d.message.find(message) != std::string::npos &&
           d.help.find(help) != std::string::npos;
  });
}

void for_every_key(const std::function<void(const RecipeText&, const Key&)>& check) {
  const std::vector<fs::path> files = shipped_recipes();
  REQUIRE_MESSAGE(!files.empty(), "run the tests from the root of the repository");
  for (const fs::path& file : files) {
    const RecipeText text = read_recipe(file, {});
    for (const auto& part : text.files)
      for (const Key& key : keys_of(text, part)) {
        if (is_replaced(text, key)) continue;
        CAPTURE(file.string());
        CAPTURE(part->name);
        CAPTURE(key.path);
        check(text, key);
      }
  }
}

}  // namespace

TEST_CASE("shipped recipes: all resolve without a warning, and begin with their schema") {
  for (const fs::path& file : shipped_recipes()) {
    const RecipeText text = read_recipe(file, {});
    CHECK_MESSAGE(resolve(text).warnings().empty(), file.string());
    const fs::path schema = fs::relative("schemas/recipe.schema.json", file.parent_path());
    CHECK_MESSAGE(text.files[0]->text.starts_with("#:schema " + schema.string() + "\n"),
                  file.string());
  }
}

TEST_CASE("shipped recipes: those of a sweep are recipes without their [sweep]") {
  for (const fs::path& file : recipes_that(true))
    CHECK_MESSAGE(resolve(read_recipe(file, {"~sweep"})).warnings().empty(), file.string());
}

TEST_SUITE_BEGIN("exhaustive");

TEST_CASE("shipped recipes: a renamed key is reported with the right suggestion") {
  for_every_key([](const RecipeText& text, const Key& key) {
    const std::string& name = key.entry.key;
    std::vector<std::string> misspelt = {name + "x", "x" + name};
    if (name.size() >= 5) {  // two letters of four are another word
      misspelt.push_back(name.substr(0, 2) + name.substr(3));
      misspelt.push_back("x" + name.substr(0, 2) + "x" + name.substr(2));
      std::string swapped = name;
      std::swap(swapped[1], swapped[2]);
      misspelt.push_back(swapped);
    }
    for (const std::string& other : misspelt) {
      if (other == name) continue;
      const Diagnostics found = diagnostics_of(replaced(text, key.entry.where, other));
      CHECK_MESSAGE(reports(found, key.entry.where, "unknown key '" + other + "'",
                            "did you mean '" + name + "'?"),
                    other);
    }
  });
}

TEST_CASE("shipped recipes: a value of the wrong type is reported at its place") {
  for_every_key([](const RecipeText& text, const Key& key) {
    const bool flag = allows_type(key.schema, "boolean");
    for (const std::string value : {flag ? "3" : "true", "{}", "{ a = 1 }"}) {
      const Diagnostics found = diagnostics_of(replaced(text, key.entry.value.where, value));
      CHECK_MESSAGE(reports(found, key.entry.value.where, "'" + key.entry.key + "' must be"),
                    value);
    }
  });
}

TEST_CASE("shipped recipes: a number out of range is reported at its place") {
  int checked = 0;
  for_every_key([&](const RecipeText& text, const Key& key) {
    for (const auto& [bound, value] : {std::pair("minimum", "-1"),
                                       {"exclusiveMinimum", "-1"},
                                       {"maximum", "10000000000"},
                                       {"exclusiveMaximum", "10000000000"}}) {
      if (!key.schema.contains(bound) || key.schema.contains("x-period")) continue;
      const Diagnostics found = diagnostics_of(replaced(text, key.entry.value.where, value));
      CHECK(reports(found, key.entry.value.where, "'" + key.entry.key + "' must be"));
      ++checked;
    }
  });
  CHECK(checked > 20);
}

TEST_CASE("shipped recipes: a period without its unit, or of nothing, is reported at its place") {
  int checked = 0;
  for_every_key([&](const RecipeText& text, const Key& key) {
    if (!key.schema.contains("x-period")) return;
    std::vector<std::string> broken = {"\"250\"", "\"250 stps\"", "\"0.5 steps\"", "250"};
    if (key.schema.contains("exclusiveMinimum")) broken.push_back("\"0 steps\"");
    for (const std::string& value : broken) {
      const Diagnostics found = diagnostics_of(replaced(text, key.entry.value.where, value));
      CHECK_MESSAGE(reports(found, key.entry.value.where, "'" + key.entry.key + "' must be"),
                    value);
      ++checked;
    }
  });
  CHECK(checked > 20);
}

TEST_CASE("shipped recipes: a deleted key is its default, or reported at its table") {
  int required = 0;
  for_every_key([&](const RecipeText& text, const Key& key) {
    const RecipeText without = without_line(text, key.entry.where);
    const Diagnostics found = diagnostics_of(without);
    const SourceSpan header = header_of(without, parent_path(key.path));
    const bool needed =
        (key.required || kNeededByRules.contains(key.path)) && !is_elsewhere(text, key);
    const bool reported =
        reports(found, header, " needs ") && reports(found, header, "'" + key.entry.key + "'");
    CHECK(reported == needed);
    required += needed;
  });
  CHECK(required > 10);
}

TEST_SUITE_END();
