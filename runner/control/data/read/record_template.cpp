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

// Why RecordFields finds none.
Error no_record(std::string_view bytes) {
  try {
    if (parse_json<json>(bytes).is_object())  // its text ends there
      return Error("is not JSON: a zero byte follows its object");
  } catch (const json::exception& error) {
    return Error("is not JSON: " + json_problem_in("record", error));
  }
  return Error("is not a JSON object");
}

using Names = std::set<std::string>;

std::string list_of(const Names& names) {
  std::string shown;
  for (const std::string& name : names) shown += (shown.empty() ? "'" : ", '") + name + "'";
  return shown.empty() ? "no fields" : shown;
}

// As text/example_template.h lists them.
bool are_of_example(const Names& names) {
  return names.contains("messages") ||
         (names.contains("instruction") && names.contains("output")) ||
         (names.contains("prompt") && (names.contains("response") || names.contains("completion")));
}

std::string remedy_for(const Names& names) {
  if (are_of_example(names)) return "; [dataset] type = \"instruction\" reads such records";
  if (names.empty()) return "";
  const std::string example =
      names.size() == 1 ? ", such as template = \"{" + *names.begin() + "}\"" : "";
  return "; dataset.template says which fields are read" + example;
}

Error no_field(const std::string& name, const RecordFields& fields) {
  Names names;
  for (const RecordField& field : fields.all()) names.emplace(field.name);
  return Error("has no field '" + name + "'; it has " + list_of(names) + remedy_for(names));
}

// Of an array or object.
std::string text_by_parse(const RecordField& field) {
  json value;
  try {
    value = parse_json<json>(field.value);
  } catch (const json::exception& error) {
    throw Error("has a value in its field '" + std::string(field.name) +
                "' that cannot become text: " + json_problem_in("field", error));
  }
  if (is_deeper_than(value, kMostLevels))
    throw Error("has arrays or objects nested more than " + std::to_string(kMostLevels) +
                " levels deep, in its field '" + std::string(field.name) +
                "', where text is expected");
  return json_text(value);
}

bool is_empty(const RecordField& field) {
  return field.is_string ? field.value.empty() : field.value == "null";
}

// What stands in the record as it is, or in `made`.
std::string_view text_of(const RecordField& field, std::string& made) {
  if (is_empty(field)) return {};
  if (!field.half.empty())
    throw Error("has half of a surrogate pair (" + std::string(field.half) +
                "), which is not a character, in its field '" + std::string(field.name) + "'");
  const bool is_list = field.value.starts_with('{') || field.value.starts_with('[');
  if (field.is_string || !is_list) return field.value;
  return made = text_by_parse(field);
}

}  // namespace

RecordTemplate::RecordTemplate(const std::string& text, const std::string& fallback)
    : parts_(template_parts(text)) {
  if (!fallback.empty()) fallback_ = template_parts(fallback);
}

// The fallback where a field is missing or its text is empty.
const RecordTemplate::Parts& RecordTemplate::parts_for(const RecordFields& fields) const {
  if (fallback_.empty()) return parts_;
  const bool whole = std::all_of(parts_.begin(), parts_.end(), [&](const TemplatePart& part) {
    if (part.field.empty()) return true;
    const RecordField* const field = fields.named(part.field);
    return field && !is_empty(*field);
  });
  return whole ? parts_ : fallback_;
}

std::string_view RecordTemplate::fill(std::string_view record, RecordRoom& room) const {
  const RecordFields& fields = room.fields;
  if (!room.fields.find(record)) throw no_record(record);
  const auto field_of = [&fields](const TemplatePart& part) -> const RecordField& {
    if (const RecordField* const field = fields.named(part.field)) return *field;
    throw no_field(part.field, fields);
  };
  const Parts& parts = parts_for(fields);
  if (parts.size() == 1 && parts[0].literal.empty()) return text_of(field_of(parts[0]), room.text);
  room.text.clear();
  for (const TemplatePart& part : parts) {
    std::string made;
    room.text += part.field.empty() ? part.literal : text_of(field_of(part), made);
  }
  return room.text;
}

}  // namespace exprun
