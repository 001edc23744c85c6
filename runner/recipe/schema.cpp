#include "recipe/schema.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json_text.h"

namespace exprun {

// Made by CMake from schemas/ (tools/cmake/embed.cmake).
const std::vector<std::pair<std::string, std::string>>& embedded_schemas();

namespace {

constexpr std::string_view kSuffix = ".schema.json";
constexpr std::string_view kComposed = "recipe.schema.json";

Schema parse(const std::string& path, const std::string& text) {
  try {
    return parse_json<Schema>(text);
  } catch (const Schema::exception& error) {
    throw std::logic_error("schema: " + path + " is no JSON: " + error.what());
  }
}

[[noreturn]] void fail(const std::string& path, const std::string& key, const std::string& reason) {
  throw std::logic_error("schema: " + path + ": '" + key + "' " + reason);
}

// Every key needs what help and editors show.
void require_complete(const std::string& path, const Schema& table) {
  if (!table.is_object() || table.value("type", "") != "object")
    throw std::logic_error("schema: " + path + " does not describe a table");
  if (table.contains("additionalProperties") && table["additionalProperties"].is_object() &&
      table["additionalProperties"].value("type", Schema()) == "object")
    require_complete(path, table["additionalProperties"]);
  if (!table.contains("properties")) return;
  for (const auto& [key, schema] : table["properties"].items()) {
    if (!schema.contains("type")) fail(path, key, "has no type");
    if (!schema.contains("description")) fail(path, key, "has no description");
    if (schema["type"] == "object") require_complete(path, schema);
  }
}

}  // namespace

SchemaSet::SchemaSet(const std::vector<std::pair<std::string, std::string>>& files)
    : files_(std::make_unique<std::map<std::string, Schema>>()) {
  for (const auto& [path, text] : files) {
    if (path == kComposed) continue;  // composed from the others, for editors
    Schema schema = parse(path, text);
    require_complete(path, schema);
    files_->insert_or_assign(path, std::move(schema));
  }
}

SchemaSet::~SchemaSet() = default;
SchemaSet::SchemaSet(SchemaSet&&) noexcept = default;

const SchemaSet& SchemaSet::embedded() {
  static const SchemaSet schemas(embedded_schemas());
  return schemas;
}

SchemaSet SchemaSet::with(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::pair<std::string, std::string>> files = embedded_schemas();
  files.insert(files.end(), more.begin(), more.end());
  return SchemaSet(files);
}

const Schema* SchemaSet::find(std::string_view table) const {
  const auto found = files_->find(std::string(table) + std::string(kSuffix));
  return found == files_->end() ? nullptr : &found->second;
}

const Schema* SchemaSet::find(std::string_view kind, std::string_view type) const {
  return find(std::string(kind) + "/" + std::string(type));
}

std::vector<std::string> SchemaSet::types(std::string_view kind) const {
  const std::string folder = std::string(kind) + "/";
  std::vector<std::string> types;
  for (auto file = files_->lower_bound(folder);
       file != files_->end() && file->first.starts_with(folder); ++file)
    types.push_back(
        file->first.substr(folder.size(), file->first.size() - folder.size() - kSuffix.size()));
  return types;
}

std::vector<std::string> SchemaSet::names() const {
  std::vector<std::string> names;
  for (const char* table : kTables) {
    names.emplace_back(table);
    for (const std::string& type : types(table)) names.push_back(std::string(table) + "/" + type);
  }
  return names;
}

const std::map<std::string, Schema>& SchemaSet::files() const {
  return *files_;
}

const std::string& composed_schema() {
  for (const auto& [path, text] : embedded_schemas())
    if (path == kComposed) return text;
  throw std::logic_error("schema: recipe.schema.json is not embedded");
}

}  // namespace exprun
