#include "control/data/read/record_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

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

// Its place is in a record or field, and would be taken for one in the file.
std::string problem_in(const std::string& what, const json::exception& error) {
  std::string problem = to_valid_utf8(json_problem(error));
  constexpr std::string_view kPlace = "parse error at ", kFirstLine = "line 1, ";
  if (!problem.starts_with(kPlace)) return problem;
  problem.insert(std::min(problem.find(':'), problem.size()), " of the " + what);
  if (problem.compare(kPlace.size(), kFirstLine.size(), kFirstLine) == 0)
    problem.erase(kPlace.size(), kFirstLine.size());
  return problem;
}

// Why find_fields() finds none.
Error no_record(std::string_view bytes) {
  try {
    if (parse_json<json>(bytes).is_object())  // its text ends there
      return Error("is no JSON: behind its object stands a zero byte");
  } catch (const json::exception& error) {
    return Error("is no JSON: " + problem_in("record", error));
  }
  return Error("is no JSON object");
}

std::string names_of(const std::vector<RecordField>& fields) {
  std::set<std::string> names;
  for (const RecordField& field : fields) names.insert(field.shown_name());
  std::string shown;
  for (const std::string& name : names) shown += (shown.empty() ? "'" : ", '") + name + "'";
  return shown.empty() ? "no field at all" : shown;
}

const RecordField* find_field(const std::vector<RecordField>& fields, std::string_view name) {
  const auto found = std::find_if(fields.rbegin(), fields.rend(),
                                  [&](const RecordField& field) { return field.is_named(name); });
  return found == fields.rend() ? nullptr : &*found;
}

// What a field holds as text, where that stands in the record as it is.
std::optional<std::string_view> text_at_sight(const RecordField& field) {
  const auto& [bytes, has_escapes] = field.value;
  if (field.is_string) return has_escapes ? std::nullopt : std::optional(bytes);
  if (bytes.starts_with('{') || bytes.starts_with('[')) return std::nullopt;
  return bytes == "null" ? std::string_view("") : bytes;
}

// Of an array or object.
std::string text_by_parse(const RecordField& field) {
  json value;
  try {
    value = parse_json<json>(field.value.bytes);
  } catch (const json::exception& error) {
    throw Error("holds in its field '" + field.shown_name() +
                "' what becomes no text: " + problem_in("field", error));
  }
  if (is_deeper_than(value, kMostLevels))
    throw Error("holds arrays or objects in each other, more than " + std::to_string(kMostLevels) +
                " levels deep, in its field '" + field.shown_name() +
                "'; a text is expected there");
  return json_text(value);
}

void append_text(std::string& text, const RecordField& field) {
  if (const auto plain = text_at_sight(field))
    text += *plain;
  else if (field.is_string)
    field.append_to(text);
  else
    text += text_by_parse(field);
}

}  // namespace

RecordTemplate::RecordTemplate(const std::string& text, const std::string& fallback)
    : parts_(template_parts(text)) {
  if (!fallback.empty()) fallback_ = template_parts(fallback);
}

// The fallback where a field is missing or its text is empty.
const RecordTemplate::Parts& RecordTemplate::parts_for(
    const std::vector<RecordField>& fields) const {
  if (fallback_.empty()) return parts_;
  const bool whole = std::all_of(parts_.begin(), parts_.end(), [&](const TemplatePart& part) {
    if (part.field.empty()) return true;
    const RecordField* const field = find_field(fields, part.field);
    return field && text_at_sight(*field) != std::string_view();
  });
  return whole ? parts_ : fallback_;
}

std::string_view RecordTemplate::fill(std::string_view record, RecordRoom& room) const {
  auto& [fields, text] = room;
  fields.clear();
  if (!find_fields(record, fields)) throw no_record(record);
  const Parts& parts = parts_for(fields);
  text.clear();
  for (const TemplatePart& part : parts) {
    text += part.literal;
    if (part.field.empty()) continue;
    const RecordField* const field = find_field(fields, part.field);
    if (!field) throw Error("has no field '" + part.field + "'; it has " + names_of(fields));
    if (const auto plain = text_at_sight(*field); plain && parts.size() == 1) return *plain;
    append_text(text, *field);
  }
  return text;
}

}  // namespace exprun
