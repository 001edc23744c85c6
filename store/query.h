// A prepared statement of a connection, bound and read in one breath, and reset at its end: a
// statement left open would pin the WAL.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "store/connection.h"

namespace exprun {

class Query {
 public:
  template <typename... Values>
  Query(Connection& connection, std::string_view sql, const Values&... values)
      : statement_(connection.prepared(sql)) {
    [[maybe_unused]] int index = 0;
    (bind(++index, values), ...);
  }
  ~Query() {
    statement_.tryReset();
    if (bound_text_) statement_.clearBindings();
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  bool step() { return statement_.executeStep(); }

  // For statements without rows; returns the number of rows that they changed.
  int run() { return statement_.exec(); }

  bool is_null(int column) { return statement_.isColumnNull(column); }
  int64_t integer(int column) { return statement_.getColumn(column).getInt64(); }
  double real(int column) { return statement_.getColumn(column).getDouble(); }
  double real_or_nan(int column) {  // NULL stands for NaN: FORMAT.md
    return is_null(column) ? std::numeric_limits<double>::quiet_NaN() : real(column);
  }
  std::string text(int column) { return statement_.getColumn(column).getString(); }

  std::optional<int64_t> optional_integer(int column) {
    if (is_null(column)) return std::nullopt;
    return integer(column);
  }
  std::optional<std::string> optional_text(int column) {
    if (is_null(column)) return std::nullopt;
    return text(column);
  }
  std::optional<bool> optional_flag(int column) {
    if (is_null(column)) return std::nullopt;
    return integer(column) != 0;
  }

 private:
  template <typename Value>
  void bind(int index, const Value& value) {
    if constexpr (std::is_integral_v<Value>) {
      statement_.bind(index, static_cast<int64_t>(value));
    } else if constexpr (std::is_floating_point_v<Value>) {
      statement_.bind(index, static_cast<double>(value));  // NaN becomes NULL: see FORMAT.md
    } else {
      bind_text(index, value);
    }
  }
  void bind_text(int index, std::string_view text) {
    statement_.bind(index, std::string(text));
    bound_text_ = true;
  }
  template <typename Value>
  void bind(int index, const std::optional<Value>& value) {
    if (value) {
      bind(index, *value);
    } else {
      statement_.bind(index);
    }
  }

  SQLite::Statement& statement_;
  bool bound_text_ = false;
};

}  // namespace exprun
