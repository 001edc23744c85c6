#include "recipe/value.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace exprun {
namespace {

using nlohmann::ordered_json;

template <class Entries>
auto find_entry(Entries& entries, std::string_view key) {
  return std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
}

}  // namespace

const char* to_string(Origin origin) {
  switch (origin) {
    case Origin::file:
      return "file";
    case Origin::command_line:
      return "override";
    case Origin::derived:
      return "derived";
    case Origin::default_value:
      return "default";
  }
  return "";
}

std::string place_of(const Value& value) {
  if (value.origin != Origin::file || !value.where) return to_string(value.origin);
  return value.where.file->name + ':' + std::to_string(value.where.line);
}

Table::Table() = default;
Table::Table(const Table&) = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(const Table&) = default;
Table& Table::operator=(Table&&) noexcept = default;
Table::~Table() = default;

const Entry* Table::entry(std::string_view key) const {
  const auto found = find_entry(entries_, key);
  return found == entries_.end() ? nullptr : &*found;
}

Entry* Table::entry(std::string_view key) {
  const auto found = find_entry(entries_, key);
  return found == entries_.end() ? nullptr : &*found;
}

const Value* Table::find(std::string_view key) const {
  const Entry* found = entry(key);
  return found == nullptr ? nullptr : &found->value;
}

Value* Table::find(std::string_view key) {
  const auto found = find_entry(entries_, key);
  return found == entries_.end() ? nullptr : &found->value;
}

Value& Table::set(std::string key, SourceSpan key_where, Value value) {
  auto found = find_entry(entries_, key);
  if (found == entries_.end()) found = entries_.insert(found, Entry{std::move(key), {}, {}});
  found->where = std::move(key_where);
  found->value = std::move(value);
  return found->value;
}

void Table::erase(std::string_view key) {
  const auto found = find_entry(entries_, key);
  if (found != entries_.end()) entries_.erase(found);
}

void Table::remove(const std::string& key, SourceSpan where) {
  erase(key);
  removed_.insert_or_assign(key, std::move(where));
}

std::optional<SourceSpan> Table::removed_at(std::string_view key) const {
  const auto found = removed_.find(key);
  return found == removed_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Table::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries_) keys.push_back(entry.key);
  return keys;
}

bool is_auto(const Value& value) {
  const auto* text = value.as<std::string>();
  return text != nullptr && *text == "auto";
}

const char* type_name(const Value& value) {
  constexpr const char* kNames[] = {"a boolean", "an integer", "a float",
                                    "a string",  "an array",   "a table"};
  return kNames[value.data.index()];
}

ordered_json to_json(const Table& table) {
  ordered_json json = ordered_json::object();
  for (const Entry& entry : table.entries()) json[entry.key] = to_json(entry.value);
  return json;
}

ordered_json to_json(const Value& value) {
  if (const auto* flag = value.as<bool>()) return *flag;
  if (const auto* integer = value.as<int64_t>()) return *integer;
  if (const auto* real = value.as<double>()) return *real;
  if (const auto* text = value.as<std::string>()) return *text;
  if (const auto* table = value.as<Table>()) return to_json(*table);
  ordered_json list = ordered_json::array();
  for (const Value& element : *value.as<Array>()) list.push_back(to_json(element));
  return list;
}

Value value_of_json(const ordered_json& json, Origin origin) {
  if (json.is_boolean()) return Value(json.get<bool>(), {}, origin);
  if (json.is_number_integer()) return Value(json.get<int64_t>(), {}, origin);
  if (json.is_number()) return Value(json.get<double>(), {}, origin);
  if (json.is_string()) return Value(json.get<std::string>(), {}, origin);
  if (json.is_object()) {
    Table table;
    for (const auto& [key, member] : json.items())
      table.set(key, {}, value_of_json(member, origin));
    return Value(std::move(table), {}, origin);
  }
  Array array;
  for (const ordered_json& element : json) array.push_back(value_of_json(element, origin));
  return Value(std::move(array), {}, origin);
}

}  // namespace exprun
