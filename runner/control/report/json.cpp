// A table as JSON: an array of objects by column key, one object a line.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/number.h"
#include "control/report/table.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

// JSON has no NaN and no infinity: they are the strings "nan", "inf", "-inf".
ordered_json to_value(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell.value)) return *integer;
  if (const auto* word = std::get_if<std::string>(&cell.value)) return *word;
  if (const auto* number = std::get_if<double>(&cell.value)) {
    if (!std::isfinite(*number)) return shortest(*number);
    return *number;
  }
  return nullptr;
}

}  // namespace

std::string to_json(const ResultTable& table) {
  std::string out = "[";
  for (const auto& row : table.rows) {
    ordered_json object = ordered_json::object();
    for (size_t i = 0; i < row.size(); ++i) object[table.columns[i].key] = to_value(row[i]);
    out += out.size() > 1 ? ",\n " : "\n ";
    out += json_text(object, -1, NotUtf8::replaced);
  }
  return out + (table.rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace exprun
