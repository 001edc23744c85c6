// What find_fields() finds of a record, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/data/read/record_fields.h"

namespace exprun {

inline std::optional<nlohmann::json> record_at_sight(std::string_view record) {
  std::vector<RecordField> fields;
  if (!find_fields(record, fields)) return std::nullopt;
  nlohmann::json found = nlohmann::json::object();
  for (const RecordField& field : fields) {
    std::string text;
    if (field.is_string) field.append_to(text);
    found[std::string(field.name)] =
        field.is_string ? nlohmann::json(text) : nlohmann::json::parse(field.value);
  }
  return found;
}

}  // namespace exprun
