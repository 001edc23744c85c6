// What RecordFields finds of a record, against a whole parse of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "control/data/read/record_fields.h"

namespace exprun {

inline nlohmann::json as_json(const RecordFields& fields) {
  nlohmann::json found = nlohmann::json::object();
  for (const RecordField& field : fields.all())
    found[std::string(field.name)] =
        field.is_string ? nlohmann::json(field.value) : nlohmann::json::parse(field.value);
  return found;
}

// The parse alone refuses numbers that are too large for a double, whatever stands after them, and
// halves of surrogate pairs; a zero byte ends its text.
inline bool is_found_as_by_parse(std::string_view record) {
  RecordFields fields;
  const bool found = fields.find(record);
  nlohmann::json parsed;
  try {
    parsed = nlohmann::json::parse(record);
  } catch (const nlohmann::json::out_of_range&) {
    return true;
  } catch (const nlohmann::json::parse_error& error) {
    return !found || std::string_view(error.what()).find("surrogate") != std::string_view::npos;
  }
  if (found) return as_json(fields) == parsed;
  return !parsed.is_object() || record.find('\0') != std::string_view::npos;
}

}  // namespace exprun
