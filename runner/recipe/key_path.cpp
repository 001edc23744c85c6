#include "recipe/key_path.h"

#include <algorithm>
#include <optional>

#include "recipe/toml/write.h"

namespace exprun {
namespace {

bool is_bare(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), is_bare_key_character);
}

// Takes `"a.b"`, `'a.b'` or `a_b` from the front. `read` holds what a part with escapes means.
std::optional<std::string_view> take_part(std::string_view& path, std::string& read) {
  if (path.empty()) return std::nullopt;
  const bool in_quotes = path.front() == '"' || path.front() == '\'';
  const size_t end = in_quotes ? end_of_quoted(path, 0) : std::min(path.find('.'), path.size());
  if (end == path.npos) return std::nullopt;
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(end);
  if (!in_quotes) return is_bare(part) ? std::optional(part) : std::nullopt;
  if (part.front() == '\'' || part.find('\\') == part.npos) return part.substr(1, part.size() - 2);
  std::optional<std::string> meant = toml_unquoted(part);
  if (!meant) return std::nullopt;
  read = std::move(*meant);
  return read;
}

// False if the path has no such form; what came before is taken all the same.
template <class Take>
bool each_part(std::string_view path, const Take& take) {
  std::string read;
  while (true) {
    const std::optional<std::string_view> part = take_part(path, read);
    if (!part) return false;
    take(*part);
    if (path.empty()) return true;
    if (path.front() != '.') return false;
    path.remove_prefix(1);
  }
}

}  // namespace

bool is_bare_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string join_path(std::string_view path, std::string_view key) {
  const std::string part = is_bare(key) ? std::string(key) : toml_quoted(key);
  return path.empty() ? part : std::string(path) + "." + part;
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  const bool whole = each_part(path, [&](std::string_view part) { parts.emplace_back(part); });
  return whole ? parts : std::vector<std::string>();
}

const Value* find_path(const Table& root, std::string_view path) {
  const Table* table = &root;
  const Value* value = nullptr;
  const bool whole = each_part(path, [&](std::string_view part) {
    value = table == nullptr ? nullptr : table->find(part);
    table = value == nullptr ? nullptr : value->as<Table>();
  });
  return whole ? value : nullptr;
}

Value* find_path(Table& root, std::string_view path) {
  return const_cast<Value*>(find_path(static_cast<const Table&>(root), path));
}

std::string parent_path(std::string_view path) {
  const std::vector<std::string> parts = split_path(path);
  std::string parent;
  for (size_t i = 0; i + 1 < parts.size(); ++i) parent = join_path(parent, parts[i]);
  return parent;
}

std::string last_part(std::string_view path) {
  const std::vector<std::string> parts = split_path(path);
  return parts.empty() ? "" : parts.back();
}

}  // namespace exprun
