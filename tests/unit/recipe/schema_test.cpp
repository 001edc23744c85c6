#include "recipe/schema/schema.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "keywords.h"
#include "recipe/defaults/fill_defaults.h"
#include "recipe/schema/table_schema.h"
#include "recipe/schema/validate_value.h"
#include "recipe/value.h"

using namespace exprun;

namespace {

const std::set<std::string> kOurKeywords = {
    "$schema",        "description", "examples",         "x-unit",       "x-period",
    "x-path",         "x-identity",  "x-no-effect",      "x-kind",       "x-type-from-name",
    "x-pattern-help", "x-series",    "x-former-default", "x-instead-of", "x-updates"};

// Visits every schema of a key, those of elements and sub-tables included.
void visit_keys(const std::string& path, const Schema& node,
                const std::function<void(const std::string&, const Schema&)>& visit) {
  for (const auto& [keyword, value] : node.items())
    CHECK_MESSAGE((kStandardKeywords.contains(keyword) || kOurKeywords.contains(keyword)),
                  path << ": " << keyword);
  if (node.contains("properties"))
    for (const auto& [key, schema] : node["properties"].items()) {
      visit(path + ": " + key, schema);
      visit_keys(path + ": " + key, schema, visit);
    }
  if (node.contains("additionalProperties") && node["additionalProperties"].is_object())
    visit_keys(path + ": *", node["additionalProperties"], visit);
}

void for_all_keys(const std::function<void(const std::string&, const Schema&)>& visit) {
  for (const auto& [path, schema] : SchemaSet::embedded().files()) visit_keys(path, *schema, visit);
}

// A valid table: the schema's examples, else its defaults; of a table that is there only where it
// is written, the same.
Table example_of(const Schema& schema) {
  Table table;
  for (const auto& [key, property] : schema["properties"].items()) {
    const auto example = property.find("examples");
    const auto usual = property.find("default");
    const Schema* value = example != property.end() ? &example->front()
                          : usual != property.end() ? &*usual
                                                    : nullptr;
    if (value != nullptr)
      table.set(key, {}, normalized(property, value_of_json(*value, Origin::file)));
    else if (property.contains("properties"))
      table.set(key, {}, Value(example_of(property), {}, Origin::file));
  }
  return table;
}

// The same of a component, with its type.
Table example_table(const SchemaSet& schemas, std::string_view kind, std::string_view type) {
  const Schema* schema = schemas.find(kind, type);
  if (schema == nullptr)
    throw std::logic_error("schema: there is no " + std::string(kind) + " " + std::string(type));
  Table table = example_of(*schema);
  table.set("type", {}, Value(std::string(type), {}, Origin::file));
  return table;
}

}  // namespace

TEST_CASE("schema: every key has a type, a description, and a valid default") {
  for_all_keys([](const std::string& path, const Schema& schema) {
    CHECK_MESSAGE(schema.contains("type"), path);
    CHECK_MESSAGE(schema.value("description", "").size() > 5, path);
    Diagnostics diagnostics;
    if (schema.contains("x-former-default")) CHECK_MESSAGE(schema["default"] == "auto", path);
    for (const char* keyword : {"default", "x-former-default", "examples"})
      if (schema.contains(keyword)) {
        const Schema& value = keyword[0] == 'e' ? schema[keyword][0] : schema[keyword];
        validate_value("key", schema, value_of_json(value, Origin::file), diagnostics);
      }
    CHECK_MESSAGE(diagnostics.empty(), path << ": " << render(diagnostics));
  });
}

TEST_CASE("schema: defaults are written in their canonical spelling") {
  for_all_keys([](const std::string& path, const Schema& schema) {
    if (!schema.contains("default") || schema["type"] != "number") return;
    CHECK_MESSAGE(schema["default"].is_number_float(), path);
  });
}

TEST_CASE("schema: every table has its file, and every kind a folder of types") {
  for (const char* table : kTables) CHECK_MESSAGE(SchemaSet::embedded().find(table), table);
  const auto schedules = SchemaSet::embedded().types("schedule");
  CHECK(std::ranges::is_sorted(schedules));
  for (const char* type : {"constant", "cosine", "wsd"})
    CHECK_MESSAGE(std::ranges::count(schedules, type) == 1, type);
  CHECK(SchemaSet::embedded().types("run").empty());
  CHECK(SchemaSet::embedded().find("optimizer", "none") == nullptr);
}

TEST_CASE("schema: every component has an example table that is valid") {
  const SchemaSet& schemas = SchemaSet::embedded();
  for (const char* kind : {"model", "dataset", "optimizer", "schedule", "evaluation"})
    for (const std::string& type : schemas.types(kind)) {
      const Table table = example_table(schemas, kind, type);
      Diagnostics diagnostics;
      for (const auto& [key, schema] : (*schemas.find(kind, type))["properties"].items()) {
        REQUIRE_MESSAGE(table.find(key), kind << " " << type << " " << key);
        validate_value(key, schema, *table.find(key), diagnostics);
        const bool stays_auto = may_be_auto(schema) && !schema.contains("examples");
        CHECK_MESSAGE(is_auto(*table.find(key)) == stays_auto, kind << " " << type << " " << key);
      }
      CHECK_MESSAGE(diagnostics.empty(), render(diagnostics));
    }
}

TEST_CASE("schema: what a pattern forbids is refused however long it is, and nothing else is") {
  const auto taken = [](const char* schema, const std::string& text) {
    Diagnostics diagnostics;
    validate_value("key", Schema::parse(schema), Value(text, {}, Origin::file), diagnostics);
    return diagnostics.empty();
  };
  const char* const long_name = R"({"type": "string", "pattern": "^a+$", "maxLength": 2000})";
  CHECK(taken(long_name, std::string(1000, 'a')));
  CHECK_FALSE(taken(long_name, std::string(1500, 'b')));
  CHECK_FALSE(taken(long_name, std::string(2500, 'a')));
  const char* const begun_by_a_dollar = R"({"type": "string", "pattern": "^\\$"})";
  CHECK(taken(begun_by_a_dollar, "$HOME"));
  CHECK_FALSE(taken(begun_by_a_dollar, "HOME"));
  const char* const backslash = R"({"type": "string", "pattern": "^\\\\$"})";
  CHECK(taken(backslash, "\\"));
  CHECK_FALSE(taken(backslash, "\\$"));
}

TEST_CASE("schema: a file that is none of ours is a bug that is named") {
  const auto found = [](const std::string& text) {
    SchemaSet::with({{"optimizer/x.schema.json", text}}).find("optimizer", "x");
  };
  CHECK_THROWS_WITH_AS(found("{\"type\": \"array\"}"),
                       "schema: optimizer/x.schema.json does not describe a table",
                       std::logic_error);
  CHECK_THROWS_WITH_AS(found(R"({"type": "object", "properties": {"lr": {"type": "number"}}})"),
                       "schema: optimizer/x.schema.json: 'lr' has no description",
                       std::logic_error);
  CHECK_THROWS_AS(found("{"), std::logic_error);
}
