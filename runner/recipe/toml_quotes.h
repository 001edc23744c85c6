// Text in double quotes as TOML has it: values of a recipe, and keys that are no bare ones.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace exprun {

// "a \"b\"" with its quotes, on one line whatever the text is.
std::string toml_quoted(std::string_view text);

// What stands between the quotes that `text` begins and ends with; nothing if it is no such text,
// or has an escape that toml_quoted() does not write.
std::optional<std::string> toml_unquoted(std::string_view text);

// Behind the quote, a double or a single one, that closes the text that begins at `at`; npos if
// none does.
size_t end_of_quoted(std::string_view text, size_t at);

}  // namespace exprun
