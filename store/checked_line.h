// A line of text with a checksum, "<XXH3-128 of the JSON> <JSON>\n", so that a torn or garbled one
// is seen. What is kept outside the database is kept so.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace exprun {

std::string checked_line(std::string_view json);

// The JSON of a line without its end, or nothing when it is damaged.
std::optional<std::string_view> json_of_line(std::string_view line);

}  // namespace exprun
