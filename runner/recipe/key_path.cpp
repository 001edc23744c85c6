#include "recipe/key_path.h"

#include <algorithm>
#include <optional>

namespace exprun {
namespace {

bool is_bare(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

// Takes `"a.b"` or `a_b` from the front.
std::optional<std::string_view> take_part(std::string_view& path) {
  if (path.empty()) return std::nullopt;
  const bool quoted = path.front() == '"' || path.front() == '\'';
  const size_t end = quoted ? path.find(path.front(), 1) : path.find('.');
  if (quoted && end == std::string_view::npos) return std::nullopt;
  const std::string_view part = quoted ? path.substr(1, end - 1) : path.substr(0, end);
  path.remove_prefix(std::min(path.size(), quoted ? end + 1 : end));
  if (!quoted && !is_bare(part)) return std::nullopt;
  return part;
}

// False if the path has no such form; what came before is taken all the same.
template <class Take>
bool each_part(std::string_view path, const Take& take) {
  while (true) {
    const std::optional<std::string_view> part = take_part(path);
    if (!part) return false;
    take(*part);
    if (path.empty()) return true;
    if (path.front() != '.') return false;
    path.remove_prefix(1);
  }
}

}  // namespace

std::string join_path(std::string_view path, std::string_view key) {
  const std::string part = is_bare(key) ? std::string(key) : "\"" + std::string(key) + "\"";
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
