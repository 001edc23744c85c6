// Reads recipes as JSON, one a line, and prints for each whether our schemas' validator finds it
// good: "good", or "bad" and the first message. Tests compare it with other validators.
#include <iostream>
#include <nlohmann/json.hpp>

#include "recipe/schema/validate.h"
#include "recipe/value.h"

int main() {
  using namespace exprun;
  for (std::string line; std::getline(std::cin, line);) {
    Value value = value_of_json(nlohmann::ordered_json::parse(line), Origin::file);
    Diagnostics diagnostics;
    validate(SchemaSet::embedded(), *value.as<Table>(), diagnostics);
    std::cout << (diagnostics.empty() ? "good" : "bad " + diagnostics.front().message) << '\n';
  }
}
