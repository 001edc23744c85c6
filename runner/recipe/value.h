// A recipe as a tree of values, each with its place and where it came from. Tables keep file order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostic.h"

namespace exprun {

enum class Origin { file, command_line, derived, default_value };

const char* to_string(Origin origin);  // "file", "override", "derived", "default"

class Value;
struct Entry;

using Array = std::vector<Value>;

class Table {
 public:
  // Defined where Entry is whole: its values are tables again.
  Table();
  Table(const Table&);
  Table(Table&&) noexcept;
  Table& operator=(const Table&);
  Table& operator=(Table&&) noexcept;
  ~Table();

  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  const Entry* entry(std::string_view key) const;
  Entry* entry(std::string_view key);
  // Adds or replaces; a replaced key keeps its position in the order.
  Value& set(std::string key, SourceSpan key_where, Value value);
  void erase(std::string_view key);
  // The same, and where it is said; who misses the key can say so there.
  void remove(const std::string& key, SourceSpan where);
  std::optional<SourceSpan> removed_at(std::string_view key) const;

  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry>& entries() { return entries_; }
  std::vector<std::string> keys() const;

  SourceSpan where;  // its header "[optimizer]" or its brace

 private:
  std::vector<Entry> entries_;
  std::map<std::string, SourceSpan, std::less<>> removed_;
};

class Value {
 public:
  using Data = std::variant<bool, int64_t, double, std::string, Array, Table>;

  Value() = default;
  Value(Data data, SourceSpan where, Origin origin)
      : data(std::move(data)), where(std::move(where)), origin(origin) {}

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&data);
  }

  Data data;
  SourceSpan where;  // of the value itself
  Origin origin = Origin::file;
  bool is_invalid = false;  // a mistake that is reported already: nothing follows from it
};

// Where it comes from, for people: "recipes/mine.toml:7", "override", "derived", "default".
std::string place_of(const Value& value);

struct Entry {
  std::string key;
  SourceSpan where;  // of the key
  Value value;
};

// Whether it stands for a value that is found later.
bool is_auto(const Value& value);

// "a string", "an integer", "a float", "a boolean", "an array", "a table".
const char* type_name(const Value& value);

// As JSON.
nlohmann::ordered_json to_json(const Value& value);
nlohmann::ordered_json to_json(const Table& table);

// From JSON (of a schema: defaults, examples), without a place. JSON's null, which TOML has not, is
// an empty array.
Value value_of_json(const nlohmann::ordered_json& json, Origin origin);

}  // namespace exprun
