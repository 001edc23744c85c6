#include "recipe/value_json.h"

#include <nlohmann/json.hpp>

namespace exprun {

using nlohmann::ordered_json;

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
