#include "base/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "base/diagnostic.h"
#include "base/utf8.h"

namespace exprun {
namespace {

template <class Json>
std::string printed(const Json& json, int indent, NotUtf8 bytes) {
  const auto handler =
      bytes == NotUtf8::throws ? Json::error_handler_t::strict : Json::error_handler_t::replace;
  return json.dump(indent, ' ', /*ensure_ascii=*/false, handler);
}

}  // namespace

template <class Json>
Json parse_json(std::string_view text) {
  return Json::parse(text);
}

template <class Json>
Json parse_json_or_discard(std::string_view text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

template nlohmann::json parse_json(std::string_view);
template nlohmann::ordered_json parse_json(std::string_view);
template nlohmann::json parse_json_or_discard(std::string_view);
template nlohmann::ordered_json parse_json_or_discard(std::string_view);

nlohmann::json value_in_object(std::string_view text, std::string_view name) {
  using nlohmann::json;
  using Event = json::parse_event_t;
  bool is_it = false;
  const json::parser_callback_t watch = [&](int depth, Event event, json& value) {
    if (depth != 1) return true;
    if (event == Event::key) return is_it = value.get_ref<const std::string&>() == name;
    if (is_it && event != Event::object_start && event != Event::array_start) throw json(value);
    return true;
  };
  try {
    const json without_it = json::parse(text, watch);
    return nullptr;
  } catch (json& found) {
    return std::move(found);
  }
}

nlohmann::json parse_strict_object(std::string_view text) {
  using nlohmann::json;
  std::vector<std::set<std::string>> open;
  std::optional<std::string> twice;
  const json::parser_callback_t watch = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key &&
        !open.back().insert(value.get_ref<const std::string&>()).second && !twice)
      twice = value.get<std::string>();
    return true;
  };
  json parsed;
  try {
    parsed = json::parse(text, watch);
  } catch (const json::exception& error) {
    throw Error("it is not JSON (" + json_problem(error) + ")");
  }
  if (twice) throw Error("it contains the key '" + *twice + "' twice");
  if (!parsed.is_object()) throw Error("it is not a JSON object");
  return parsed;
}

std::string json_problem(const std::exception& error) {
  const std::string text = error.what();  // "[json.exception.parse_error.101] parse error at ..."
  const size_t end = text.starts_with("[json.exception") ? text.find("] ") : text.npos;
  return end == text.npos ? text : text.substr(end + 2);
}

std::string json_problem_in(const std::string& what, const std::exception& error) {
  std::string problem = to_valid_utf8(json_problem(error));
  constexpr std::string_view kPlace = "parse error at ", kFirstLine = "line 1, ";
  if (!problem.starts_with(kPlace)) return problem;
  problem.insert(std::min(problem.find(':'), problem.size()), " of the " + what);
  if (problem.compare(kPlace.size(), kFirstLine.size(), kFirstLine) == 0)
    problem.erase(kPlace.size(), kFirstLine.size());
  return problem;
}

std::string json_text(const nlohmann::json& json, int indent, NotUtf8 bytes) {
  return printed(json, indent, bytes);
}

std::string json_text(const nlohmann::ordered_json& json, int indent, NotUtf8 bytes) {
  return printed(json, indent, bytes);
}

}  // namespace exprun
