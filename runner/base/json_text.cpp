#include "base/json_text.h"

#include <nlohmann/json.hpp>

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

std::string json_problem(const std::exception& error) {
  const std::string text = error.what();  // "[json.exception.parse_error.101] parse error at ..."
  const size_t end = text.starts_with("[json.exception") ? text.find("] ") : text.npos;
  return end == text.npos ? text : text.substr(end + 2);
}

std::string json_text(const nlohmann::json& json, int indent, NotUtf8 bytes) {
  return printed(json, indent, bytes);
}

std::string json_text(const nlohmann::ordered_json& json, int indent, NotUtf8 bytes) {
  return printed(json, indent, bytes);
}

}  // namespace exprun
