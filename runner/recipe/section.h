// A component's own table of a resolved recipe, read by key. Defaults live in the schema only, so
// every declared key is there; asking for an undeclared one is a bug and names the schema file.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/period.h"
#include "recipe/value.h"

namespace exprun {

class Section {
 public:
  // `schema_file` is named when an undeclared key is asked for. The table must outlive the section.
  Section(const Table& table, std::string path, std::string schema_file);

  // T: bool, int64_t, double (an integer is accepted), std::string, Period,
  // std::vector<double>, std::vector<int64_t>, std::vector<std::string>.
  template <class T>
  T get(std::string_view key) const;

  // For keys that may be absent, or that are "auto" with nothing known to fill in (a string is
  // returned as it is): the caller decides.
  template <class T>
  std::optional<T> find(std::string_view key) const;

  // Whether the value of a key that allows several types is a T.
  template <class T>
  bool holds(std::string_view key) const;

  // A sub-table: section.table("groups"), and its keys in file order.
  Section table(std::string_view key) const;
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const;

  const std::string& path() const { return path_; }  // "optimizer.groups.matrices"
  std::string type() const { return get<std::string>("type"); }

  // A late mistake, at the value of `key`: throw section.error("vocab_size", "...").
  RecipeError error(std::string_view key, std::string message, std::string help = "") const;

  // A mistake between several keys, at the one that was changed last (newest_of).
  RecipeError error_between(const std::vector<std::string>& keys, std::string message,
                            std::string help = "") const;

  // Declared keys that nobody has read through it, a copy of it or a sub-table ("norm.eps").
  std::vector<std::string> unread() const;

 private:
  const Value& value(std::string_view key) const;

  const Table* table_;
  std::string path_;
  std::string schema_file_;
  std::shared_ptr<std::set<std::string, std::less<>>> read_;
};

}  // namespace exprun
