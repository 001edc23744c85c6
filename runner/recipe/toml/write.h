// Values as TOML text that reads back to the same values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "recipe/value.h"

namespace exprun {

// On one line: 0.0003, 1.0, "text", [1, 2], {a = 1}. A float keeps its point or exponent.
std::string toml_text(const Value& value);

// A whole recipe: top-level tables under their headers, named sub-tables under theirs.
std::string toml_document(const Table& root);

// Text in double quotes as TOML has it, for values and for keys that are no bare ones:
// "a \"b\"" with its quotes, on one line whatever the text is.
std::string toml_quoted(std::string_view text);

// What stands between the quotes that `text` begins and ends with; nothing if it is no such text,
// or has an escape that toml_quoted() does not write.
std::optional<std::string> toml_unquoted(std::string_view text);

// After the quote, a double or a single one, that closes the text that begins at `at`; npos if
// none does.
size_t end_of_quoted(std::string_view text, size_t at);

}  // namespace exprun
