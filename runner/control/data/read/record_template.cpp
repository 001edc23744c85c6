#include "control/data/read/record_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/utf8.h"

namespace exprun {
namespace {

using nlohmann::json;

constexpr int kMostLevels = 256;

bool is_deeper_than(const json& value, int levels) {
  if (!value.is_structured()) return false;
  if (levels == 0) return true;
  return std::any_of(value.begin(), value.end(),
                     [&](const json& inner) { return is_deeper_than(inner, levels - 1); });
}

// What a field holds as text; empty where it is missing or null.
std::string text_of(const json& record, const std::string& field) {
  const auto found = record.find(field);
  if (found == record.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (is_deeper_than(*found, kMostLevels))
    throw Error("holds arrays or objects in each other, more than " + std::to_string(kMostLevels) +
                " levels deep, in its field '" + field + "'; a text is expected there");
  return json_text(*found);
}

// Its place is in the record, and would be taken for one in the file.
std::string problem_of_record(const json::exception& error) {
  std::string problem = to_valid_utf8(json_problem(error));
  constexpr std::string_view kPlace = "parse error at ", kFirstLine = "line 1, ";
  if (!problem.starts_with(kPlace)) return problem;
  problem.insert(std::min(problem.find(':'), problem.size()), " of the record");
  if (problem.compare(kPlace.size(), kFirstLine.size(), kFirstLine) == 0)
    problem.erase(kPlace.size(), kFirstLine.size());
  return problem;
}

std::string names_of(const json& record) {
  std::string names;
  for (const auto& [name, value] : record.items())
    names += (names.empty() ? "'" : ", '") + name + "'";
  return names.empty() ? "no field at all" : names;
}

}  // namespace

RecordTemplate::RecordTemplate(const std::string& text, const std::string& fallback)
    : parts_(template_parts(text)) {
  if (!fallback.empty()) fallback_ = template_parts(fallback);
}

std::optional<std::string_view> RecordTemplate::filled_at_sight(std::string_view record,
                                                                RecordRoom& room) const {
  auto& [fields, text] = room;
  fields.clear();
  if (!find_fields(record, fields)) return std::nullopt;
  const auto find = [&fields = fields](const TemplatePart& part) -> const RecordField* {
    const auto found = std::find_if(fields.rbegin(), fields.rend(), [&](const RecordField& field) {
      return field.name == part.field;
    });
    return found != fields.rend() && found->is_string ? &*found : nullptr;
  };
  const Parts* parts = &parts_;
  for (const TemplatePart& part : parts_) {
    if (part.field.empty() || fallback_.empty()) continue;
    const RecordField* const field = find(part);
    if (!field) return std::nullopt;
    if (field->value.empty()) parts = &fallback_;
  }
  text.clear();
  for (const TemplatePart& part : *parts) {
    const RecordField* const field = part.field.empty() ? nullptr : find(part);
    if (!field && !part.field.empty()) return std::nullopt;
    if (field && parts->size() == 1 && !field->has_escapes) return field->value;
    text += part.literal;
    if (field) field->append_to(text);
  }
  return text;
}

std::string RecordTemplate::filled_by_parse(std::string_view bytes) const {
  json record;
  try {
    record = parse_json<json>(bytes);
  } catch (const json::exception& error) {
    throw Error("is no JSON: " + problem_of_record(error));
  }
  if (!record.is_object()) throw Error("is no JSON object");
  const Parts* parts = &parts_;
  for (const TemplatePart& part : parts_)
    if (!part.field.empty() && !fallback_.empty() && text_of(record, part.field).empty())
      parts = &fallback_;
  std::string text;
  for (const TemplatePart& part : *parts) {
    if (!part.field.empty() && !record.contains(part.field))
      throw Error("has no field '" + part.field + "'; it has " + names_of(record));
    text += part.field.empty() ? part.literal : text_of(record, part.field);
  }
  return text;
}

std::string_view RecordTemplate::fill(std::string_view record, RecordRoom& room) const {
  if (const auto text = filled_at_sight(record, room)) return *text;
  return room.text = filled_by_parse(record);
}

}  // namespace exprun
