// The cases of tests/errors, for the programs that run them; its README.md says what is in one.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "recipe/resolved.h"

namespace exprun {

using CaseFolder = std::filesystem::path;

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline nlohmann::json json_of(const std::filesystem::path& file) {
  return nlohmann::json::parse(text_of(file));
}

// recipe.toml with the case's overrides.
inline RecipeText recipe_of(const CaseFolder& folder) {
  return read_recipe(folder / "recipe.toml", lines_of(folder / "overrides"));
}

inline DatasetInfo facts_of(const CaseFolder& folder) {
  if (!std::filesystem::exists(folder / "facts.json")) return {};
  const nlohmann::json json = json_of(folder / "facts.json");
  const auto fact = [&](const char* name) {
    return json.contains(name) ? std::optional(json[name].get<int64_t>()) : std::nullopt;
  };
  DatasetInfo dataset_info{fact("vocab_size"), fact("train_tokens"), fact("validation_tokens")};
  if (!json.contains("characters")) return dataset_info;
  dataset_info.characters.emplace();
  const auto characters = json["characters"].get<std::string>();
  for (const CodePoint& c : code_points(characters)) *dataset_info.characters += c.value;
  return dataset_info;
}

// The shipped schemas, with those of the case if it has some: each set is read once.
inline const SchemaSet& schemas_of(const CaseFolder& folder) {
  namespace fs = std::filesystem;
  static std::map<std::string, SchemaSet> known;
  if (!fs::exists(folder / "schemas")) return SchemaSet::embedded();
  const auto found = known.find(folder.string());
  if (found != known.end()) return found->second;
  std::vector<std::pair<std::string, std::string>> more;
  for (const auto& file : fs::recursive_directory_iterator(folder / "schemas"))
    if (file.is_regular_file())
      more.emplace_back(fs::relative(file, folder / "schemas").string(), text_of(file));
  return known.emplace(folder.string(), SchemaSet::with(std::move(more))).first->second;
}

// Who runs a case: the real program, a program with a made-up machine, or one with none.
enum class CaseOf { commands, machine, recipe };

inline CaseOf case_of(const CaseFolder& folder) {
  if (std::filesystem::exists(folder / "commands")) return CaseOf::commands;
  return std::filesystem::exists(folder / "machine.json") ? CaseOf::machine : CaseOf::recipe;
}

inline std::vector<CaseFolder> cases(CaseOf which) {
  namespace fs = std::filesystem;
  REQUIRE_MESSAGE(fs::is_directory("tests/errors"), "run the tests from the repository's root");
  std::vector<CaseFolder> folders;
  for (const auto& entry : fs::directory_iterator("tests/errors"))
    if (entry.is_directory() && case_of(entry) == which) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  REQUIRE(!folders.empty());
  return folders;
}

// Holds the message of each such case against its expected.txt.
inline void check_cases(CaseOf which, const std::function<std::string(const CaseFolder&)>& answer) {
  const bool update = std::getenv("EXPRUN_UPDATE_ERRORS") != nullptr;
  for (const CaseFolder& folder : cases(which)) {
    CAPTURE(folder.string());
    const std::string message = answer(folder);
    if (update) std::ofstream(folder / "expected.txt", std::ios::binary) << message;
    CHECK(message == text_of(folder / "expected.txt"));
    CHECK_FALSE(message.empty());
  }
}

}  // namespace exprun
