#include "recipe/value.h"

#include <algorithm>

namespace exprun {
namespace {

template <class Entries>
auto find_entry(Entries& entries, std::string_view key) {
  return std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
}

}  // namespace

Table::Table() = default;
Table::Table(const Table&) = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(const Table&) = default;
Table& Table::operator=(Table&&) noexcept = default;
Table::~Table() = default;

const Entry* Table::entry(std::string_view key) const {
  const auto found = find_entry(entries_, key);
  return found == entries_.end() ? nullptr : &*found;
}

Entry* Table::entry(std::string_view key) {
  const auto found = find_entry(entries_, key);
  return found == entries_.end() ? nullptr : &*found;
}

const Value* Table::find(std::string_view key) const {
  const Entry* found = entry(key);
  return found == nullptr ? nullptr : &found->value;
}

Value* Table::find(std::string_view key) {
  const auto found = find_entry(entries_, key);
  return found == entries_.end() ? nullptr : &found->value;
}

Value& Table::set(std::string key, SourceSpan key_where, Value value) {
  auto found = find_entry(entries_, key);
  if (found == entries_.end()) found = entries_.insert(found, Entry{std::move(key), {}, {}});
  found->where = std::move(key_where);
  found->value = std::move(value);
  return found->value;
}

void Table::erase(std::string_view key) {
  const auto found = find_entry(entries_, key);
  if (found != entries_.end()) entries_.erase(found);
}

std::vector<std::string> Table::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries_) keys.push_back(entry.key);
  return keys;
}

bool is_auto(const Value& value) {
  const auto* text = value.as<std::string>();
  return text != nullptr && *text == "auto";
}

const char* type_name(const Value& value) {
  constexpr const char* kNames[] = {"a boolean", "an integer", "a float",
                                    "a string",  "an array",   "a table"};
  return kNames[value.data.index()];
}

}  // namespace exprun
