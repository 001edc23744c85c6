// JSON as text. The parser and the printer of nlohmann-json are templates, which cost every source
// that calls them two seconds to compile: here each is compiled once. Json is nlohmann::json or
// ordered_json.
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace exprun {

// Throws nlohmann::json::parse_error, which names the place.
template <class Json>
Json parse_json(std::string_view text);

// A value that is_discarded() if the text is no JSON.
template <class Json>
Json parse_json_or_discard(std::string_view text);

// The value of a name of an object; null where it has none. What stands after it is not looked at.
// Throws as parse_json for what stands before it.
nlohmann::json value_in_object(std::string_view text, std::string_view name);

// An object without a name that is there twice: JSON takes the last of two, and another reader
// might take the first. Throws Error that says what the text is instead: "it contains the key 'a'
// twice".
nlohmann::json parse_strict_object(std::string_view text);

// What an exception of nlohmann-json says, without the number that the library gives it.
std::string json_problem(const std::exception& error);

// The same of a "record" or "field", for which its place would be taken for one in the file: "parse
// error at column 26 of the record: ...".
std::string json_problem_in(const std::string& what, const std::exception& error);

// What is done with strings that are not UTF-8: nlohmann::json::type_error, or U+FFFD for their
// bytes.
enum class NotUtf8 { throws, replaced };

// In one line, or indented by so many spaces a level. No line end at its end.
std::string json_text(const nlohmann::json& json, int indent = -1, NotUtf8 bytes = NotUtf8::throws);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1,
                      NotUtf8 bytes = NotUtf8::throws);

}  // namespace exprun
