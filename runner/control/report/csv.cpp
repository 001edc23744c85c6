// A table as comma-separated values (RFC 4180, with plain line feeds).
#include "base/number.h"
#include "control/report/table.h"

namespace exprun {
namespace {

std::string field(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell.value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&cell.value)) return shortest(*number);
  if (const auto* word = std::get_if<std::string>(&cell.value)) return csv_quoted(*word);
  return "";
}

}  // namespace

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string to_csv(const ResultTable& table) {
  std::string out;
  for (const Column& column : table.columns) {
    if (&column != &table.columns.front()) out += ',';
    out += csv_quoted(column.key);
  }
  out += '\n';
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) out += (i ? "," : "") + field(row[i]);
    out += '\n';
  }
  return out;
}

}  // namespace exprun
