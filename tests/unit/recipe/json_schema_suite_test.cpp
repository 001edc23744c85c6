// JSON-Schema-Test-Suite (Debian json-schema-test-suite), draft-07: our verdicts are the
// standard's, but for two things that TOML has otherwise. A float is never an integer, and there is
// no null.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "keywords.h"
#include "recipe/schema/validate_value.h"
#include "recipe/value.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

const fs::path kSuite = "/usr/share/json-schema-test-suite/tests/draft7";

// Groups of the suite's files that also take a keyword which our subset has not.
const std::set<std::string> kOutside = {
    "additionalProperties being false does not allow other properties",
    "non-ASCII pattern with additionalProperties",
    "properties, patternProperties, additionalProperties interaction",
    "invalid string value for default",
    "oneOf with base schema",
    "anyOf with base schema",
    "items and subitems",
    "additionalProperties should not look in applicators",
    "additionalProperties with propertyNames",
    "dependentSchemas with additionalProperties"};

bool has_null(const Schema& json) {
  return json.is_null() ||
         (json.is_structured() && std::any_of(json.begin(), json.end(), has_null));
}

// A float with a whole value: the standard takes it for an integer.
bool is_whole_float(const Schema& json) {
  return json.is_number_float() && std::floor(json.get<double>()) == json.get<double>();
}

bool asks_for_integer(const Schema& schema) {
  return schema.is_object() && schema.value("type", Schema()) == "integer";
}

struct Tally {
  int checked = 0, exceptions = 0;
};

void check_case(const Schema& group, const Schema& test, Tally& tally) {
  if (has_null(test["data"]) ||
      (is_whole_float(test["data"]) && asks_for_integer(group["schema"]))) {
    ++tally.exceptions;
    return;
  }
  Diagnostics diagnostics;
  validate_value("value", group["schema"], value_of_json(test["data"], Origin::file), diagnostics);
  CHECK_MESSAGE(diagnostics.empty() == test["valid"].get<bool>(),
                group["description"] << ": " << test["description"]);
  ++tally.checked;
}

}  // namespace

TEST_CASE("JSON Schema: the official suite's verdicts on the keywords of the subset") {
  if (!fs::exists(kSuite)) {
    std::puts("SKIPPED: json-schema-test-suite is not installed");
    return;
  }
  Tally tally;
  std::set<std::string> files = kStandardKeywords;
  files.insert("boolean_schema");
  for (const std::string& file : files) {
    std::ifstream stream(kSuite / (file + ".json"));
    REQUIRE_MESSAGE(stream, file);
    for (const Schema& group : Schema::parse(stream)) {
      if (kOutside.contains(group["description"].get<std::string>())) continue;
      for (const Schema& test : group["tests"]) check_case(group, test, tally);
    }
  }
  CHECK(tally.checked > 150);
  CHECK(tally.exceptions < 20);
}
