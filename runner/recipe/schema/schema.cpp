#include "recipe/schema/schema.h"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json_text.h"
#include "recipe/schema/table_schema.h"

namespace exprun {

// Made by CMake from schemas/ (tools/cmake/embed.cmake).
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_schemas();

namespace {

constexpr std::string_view kSuffix = ".schema.json";
constexpr std::string_view kComposed = "recipe";

// A file's path without the suffix that all have.
std::string_view name_of(std::string_view path) {
  return path.substr(0, path.size() - kSuffix.size());
}

std::string path_of(std::string_view name) {
  return std::string(name) + std::string(kSuffix);
}

Schema parsed(const std::string& path, std::string_view text) {
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

struct SchemaSet::Files {
  struct File {
    std::string_view text;
    std::once_flag is_read;
    Schema schema;
  };
  std::vector<std::pair<std::string, std::string>> more;  // whose texts no program embeds
  std::map<std::string, File, std::less<>> by_name;       // "optimizer/adamw"
};

SchemaSet::SchemaSet(std::vector<std::pair<std::string, std::string>> more)
    : files_(std::make_unique<Files>()), tables_(std::make_unique<TableSchemas>()) {
  for (const auto& [path, text] : embedded_schemas())
    if (name_of(path) != kComposed)  // composed from the others, for editors
      files_->by_name[std::string(name_of(path))].text = text;
  files_->more = std::move(more);
  for (const auto& [path, text] : files_->more)
    files_->by_name[std::string(name_of(path))].text = text;
}

SchemaSet::~SchemaSet() = default;
SchemaSet::SchemaSet(SchemaSet&&) noexcept = default;

const SchemaSet& SchemaSet::embedded() {
  static const SchemaSet schemas({});
  return schemas;
}

SchemaSet SchemaSet::with(std::vector<std::pair<std::string, std::string>> more) {
  return SchemaSet(std::move(more));
}

const Schema* SchemaSet::find(std::string_view table) const {
  const auto found = files_->by_name.find(table);
  if (found == files_->by_name.end()) return nullptr;
  Files::File& file = found->second;
  std::call_once(file.is_read, [&] {
    Schema schema = parsed(path_of(table), file.text);
    require_complete(path_of(table), schema);
    file.schema = std::move(schema);
  });
  return &file.schema;
}

const Schema* SchemaSet::find(std::string_view kind, std::string_view type) const {
  return find(std::string(kind) + "/" + std::string(type));
}

std::vector<std::string> SchemaSet::types(std::string_view kind) const {
  const std::string folder = std::string(kind) + "/";
  std::vector<std::string> types;
  for (auto file = files_->by_name.lower_bound(folder);
       file != files_->by_name.end() && file->first.starts_with(folder); ++file)
    types.push_back(file->first.substr(folder.size()));
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

std::vector<std::pair<std::string, const Schema*>> SchemaSet::files() const {
  std::vector<std::pair<std::string, const Schema*>> files;
  for (const auto& [name, file] : files_->by_name) files.emplace_back(path_of(name), find(name));
  return files;
}

std::string_view composed_schema() {
  for (const auto& [path, text] : embedded_schemas())
    if (name_of(path) == kComposed) return text;
  throw std::logic_error("schema: recipe.schema.json is not embedded");
}

}  // namespace exprun
