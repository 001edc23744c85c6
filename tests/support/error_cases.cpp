#include "tests/support/error_cases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "base/utf8.h"
#include "tests/support/temporary_folder.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

constexpr const char* kTables = "tests/errors";
constexpr std::string_view kIndent = "    ";

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Lines lines_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// "KEY: VALUE", or "KEY:" with an indented block below it.
struct Entry {
  std::string key, value;
  Lines block;
};

std::vector<Entry> entries_of(const Lines& lines) {
  std::vector<Entry> entries;
  for (const std::string& line : lines) {
    if (line.starts_with(kIndent)) {
      entries.back().block.push_back(line.substr(kIndent.size()));
    } else if (line.empty()) {
      if (!entries.empty()) entries.back().block.emplace_back();
    } else {
      const size_t colon = line.find(':');
      REQUIRE_MESSAGE(colon != std::string::npos, "no key: " << line);
      const size_t value = line.find_first_not_of(' ', colon + 1);
      entries.push_back(
          {line.substr(0, colon), value == std::string::npos ? "" : line.substr(value), {}});
    }
  }
  for (Entry& entry : entries)
    while (!entry.block.empty() && entry.block.back().empty()) entry.block.pop_back();
  return entries;
}

std::string unescaped(const Lines& lines) {
  const std::map<char, char> plain{{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}};
  std::string text;
  for (const std::string& line : lines)
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] != '\\') {
        text += line[i];
      } else if (line[++i] == 'x') {
        text += static_cast<char>(std::stoi(line.substr(i + 1, 2), nullptr, 16));
        i += 2;
      } else {
        text += plain.at(line[i]);
      }
    }
  return text;
}

// Lines to find begin with '-' or ' ', lines to put there with '+' or ' '; '+' alone appends.
std::string with_change(const std::string& recipe, const Lines& change) {
  std::string before = "\n", after = "\n";
  for (const std::string& line : change) {
    const char sign = line.empty() ? ' ' : line[0];
    const std::string rest = line.empty() ? "\n" : line.substr(1) + "\n";
    if (sign != '+') before += rest;
    if (sign != '-') after += rest;
  }
  if (before == "\n") return recipe + after.substr(1);
  std::string text = "\n" + recipe;
  const size_t at = text.find(before);
  REQUIRE_MESSAGE((at != std::string::npos && text.find(before, at + 1) == std::string::npos),
                  "not exactly once in the recipe: " << before);
  return text.replace(at, before.size(), after).substr(1);
}

std::string file_of(const std::string& key) {
  static const std::map<std::string, std::string> names{
      {"facts", "facts.json"},  {"machine", "machine.json"}, {"exit code", "exit_code"},
      {"commands", "commands"}, {"override", "overrides"},   {"expected", "expected.txt"}};
  const auto name = names.find(key);
  if (name != names.end()) return name->second;
  REQUIRE_MESSAGE(key.starts_with("file "), "no key of a case: " << key);
  return key.substr(5);
}

void unpack(const TemporaryFolder& root, const std::string& name, const std::string& base,
            const Lines& lines) {
  std::map<std::string, std::string> files;
  std::string recipe =
      base == "none" ? "" : text_of(fs::path(kTables) / "recipes" / (base + ".toml"));
  for (const Entry& entry : entries_of(lines)) {
    constexpr std::string_view kEscaped = " escaped";
    if (entry.key == "change") {
      recipe = with_change(recipe, entry.block);
    } else if (entry.key.ends_with(kEscaped)) {
      files[file_of(entry.key.substr(0, entry.key.size() - kEscaped.size()))] =
          unescaped(entry.block);
    } else {
      files[file_of(entry.key)] += entry.value.empty() ? joined(entry.block) : entry.value + "\n";
    }
  }
  if (base != "none") files.emplace("recipe.toml", recipe);
  for (const auto& [file, content] : files) root.write(name + "/" + file, content);
}

std::vector<fs::path> tables() {
  REQUIRE_MESSAGE(fs::is_directory(kTables), "run the tests from the repository's root");
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(kTables))
    if (entry.path().extension() == ".txt") found.push_back(entry.path());
  return found;
}

// The table that each case stands in, and the folder with all of them.
struct Unpacked {
  TemporaryFolder root;
  std::map<std::string, fs::path> table_of;
};

const Unpacked& unpacked() {
  static const auto all = [] {
    auto made = std::make_unique<Unpacked>();
    for (const fs::path& table : tables()) {
      std::string name, base;
      Lines lines;
      const auto close = [&] {
        if (!name.empty()) unpack(made->root, name, base, lines);
        lines.clear();
      };
      for (const std::string& line : lines_of(table)) {
        if (!line.starts_with("== ")) {
          lines.push_back(line);
          continue;
        }
        close();
        const size_t on = line.find(" on ");
        name = line.substr(3, on == std::string::npos ? on : on - 3);
        base = on == std::string::npos ? "gpt" : line.substr(on + 4);
        REQUIRE_MESSAGE(made->table_of.emplace(name, table).second, name << " stands there twice");
      }
      close();
    }
    return made;
  }();
  return *all;
}

CaseOf kind_of(const CaseFolder& folder) {
  if (fs::exists(folder / "commands")) return CaseOf::commands;
  return fs::exists(folder / "machine.json") ? CaseOf::machine : CaseOf::recipe;
}

// Writes a case's expected text anew. It is the last entry of its case.
void update_table(const fs::path& table, const std::string& name, const std::string& message) {
  std::string text;
  bool inside = false, skipping = false;
  for (const std::string& line : lines_of(table)) {
    if (line.starts_with("== ")) {
      if (skipping) text += "\n";
      inside = line == "== " + name || line.starts_with("== " + name + " on ");
      skipping = false;
    }
    if (!skipping) text += line + "\n";
    if (!inside || line != "expected:") continue;
    skipping = true;
    std::string rest = message;
    for (size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1))
      text += (end == 0 ? "" : std::string(kIndent) + rest.substr(0, end)) + "\n";
  }
  std::ofstream(table, std::ios::binary) << text;
}

}  // namespace

std::vector<CaseFolder> cases(CaseOf which) {
  std::vector<CaseFolder> folders;
  for (const auto& [name, table] : unpacked().table_of)
    if (const CaseFolder folder = unpacked().root.path() / name; kind_of(folder) == which)
      folders.push_back(folder);
  REQUIRE(!folders.empty());
  return folders;
}

nlohmann::json json_of(const fs::path& file) {
  return nlohmann::json::parse(text_of(file));
}

RecipeText recipe_of(const CaseFolder& folder) {
  return read_recipe(folder / "recipe.toml", lines_of(folder / "overrides"));
}

DatasetInfo facts_of(const CaseFolder& folder) {
  if (!fs::exists(folder / "facts.json")) return {};
  const nlohmann::json json = json_of(folder / "facts.json");
  const auto fact = [&](const char* name) {
    return json.contains(name) ? std::optional(json[name].get<int64_t>()) : std::nullopt;
  };
  DatasetInfo dataset_info{fact("vocab_size"), fact("train_tokens"), fact("validation_tokens")};
  dataset_info.most_validation_tokens = fact("most_validation_tokens");
  dataset_info.likely_validation_tokens = fact("likely_validation_tokens");
  dataset_info.described_vocab_size = fact("described_vocab_size");
  dataset_info.least_vocab_size = fact("least_vocab_size");
  dataset_info.train_examples = {fact("shortest_example"), fact("shortest_beginning"),
                                 fact("longest_example")};
  dataset_info.validation_examples = {fact("shortest_validation_example"),
                                      fact("shortest_validation_beginning")};
  if (!json.contains("characters")) return dataset_info;
  dataset_info.characters.emplace();
  const auto characters = json["characters"].get<std::string>();
  for (const CodePoint& c : code_points(characters)) *dataset_info.characters += c.value;
  return dataset_info;
}

const SchemaSet& schemas_of(const CaseFolder& folder) {
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

void check_cases(CaseOf which, const std::function<std::string(const CaseFolder&)>& message_of) {
  const bool update = std::getenv("EXPRUN_UPDATE_ERRORS") != nullptr;
  for (const CaseFolder& folder : cases(which)) {
    const std::string name = folder.filename(), prefix = folder.string() + "/";
    CAPTURE(name);
    std::string message = message_of(folder);
    for (size_t at; (at = message.find(prefix)) != std::string::npos;)
      message.erase(at, prefix.size());
    if (update)
      update_table(unpacked().table_of.at(name), name, message);
    else
      CHECK(message == text_of(folder / "expected.txt"));
    CHECK_FALSE(message.empty());
  }
}

}  // namespace exprun
