// Dotted paths of keys: "optimizer.groups.matrices.lr". A part that is no bare TOML key is quoted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recipe/value.h"

namespace exprun {

// Of TOML's bare keys: letters, digits, _ and -.
bool is_bare_key_character(char c);

std::string join_path(std::string_view path, std::string_view key);

// Empty if the text is no path.
std::vector<std::string> split_path(std::string_view path);

// The value at a path below a table, or null.
const Value* find_path(const Table& root, std::string_view path);
Value* find_path(Table& root, std::string_view path);

// "optimizer" of "optimizer.lr"; the last part, "lr".
std::string parent_path(std::string_view path);
std::string last_part(std::string_view path);

}  // namespace exprun
