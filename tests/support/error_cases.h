// The cases of tests/errors, for the programs that run them; its README.md says what is in one.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recipe/resolved.h"

namespace exprun {

// A case, unpacked into a folder of its own: recipe.toml, overrides, expected.txt, ...
using CaseFolder = std::filesystem::path;

// Who runs a case: the real program, a program with a made-up machine, or one with none.
enum class CaseOf { commands, machine, recipe };

// The cases of a kind, by name. Unpacks all tables once a process; removes the folders at its end.
std::vector<CaseFolder> cases(CaseOf which);

nlohmann::json json_of(const std::filesystem::path& file);
RecipeText recipe_of(const CaseFolder& folder);  // recipe.toml with the case's overrides
DatasetInfo facts_of(const CaseFolder& folder);
// The shipped schemas, with those of the case if it has some: each set is read once.
const SchemaSet& schemas_of(const CaseFolder& folder);

// Compares the message of each such case with its expected text. With EXPRUN_UPDATE_ERRORS set,
// writes the message into the case's table instead.
void check_cases(CaseOf which, const std::function<std::string(const CaseFolder&)>& message_of);

}  // namespace exprun
