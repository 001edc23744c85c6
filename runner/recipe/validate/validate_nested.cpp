#include "recipe/validate/validate_nested.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "base/word_list.h"
#include "recipe/validate/validate_value.h"
#include "recipe/validate/wrong_type.h"

namespace exprun {
namespace {

std::vector<std::string> declared_keys(const Schema& schema) {
  std::vector<std::string> keys;
  if (const auto properties = schema.find("properties"); properties != schema.end())
    for (const auto& [key, node] : properties->items()) keys.push_back(key);
  return keys;
}

void check_member(const std::string& key, const Schema& schema, const Entry& entry,
                  Diagnostics& diagnostics) {
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->contains(entry.key))
    return validate_value(entry.key, (*properties)[entry.key], entry.value, diagnostics);
  const auto others = schema.find("additionalProperties");
  if (others == schema.end()) return;
  if (*others != false) return validate_value(entry.key, *others, entry.value, diagnostics);
  const std::vector<std::string> keys = declared_keys(schema);
  const auto near = nearest(entry.key, keys);
  diagnostics.push_back({entry.where, "unknown key '" + entry.key + "' in '" + key + "'",
                         near           ? "did you mean '" + *near + "'?"
                         : keys.empty() ? ""
                                        : "its keys are " + listed(keys)});
}

// All types that the branches take, as one schema: for the message.
Schema any_type(const Schema& branches) {
  Schema types = Schema::array();
  for (const Schema& branch : branches) {
    if (!branch.is_object() || !branch.contains("type")) return Schema::object();
    for (const Schema& type : branch["type"].is_array() ? branch["type"] : Schema{branch["type"]})
      if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return {{"type", types}};
}

struct Branches {
  size_t fitting = 0;
  Diagnostics nearest;  // of the branch with the fewest mistakes among those of the value's type
};

Branches try_branches(const std::string& key, const Schema& branches, const Value& value) {
  Branches result;
  for (const Schema& branch : branches) {
    Diagnostics found;
    validate_value(key, branch, value, found);
    if (!has_errors(found))
      ++result.fitting;
    else if (has_right_type(branch, value) &&
             (result.nearest.empty() || found.size() < result.nearest.size()))
      result.nearest = std::move(found);
  }
  return result;
}

}  // namespace

void check_items(const std::string& key, const Schema& schema, const Array& array,
                 Diagnostics& diagnostics) {
  const auto items = schema.find("items");
  if (items == schema.end()) return;
  for (size_t i = 0; i < array.size(); ++i)
    if (!items->is_array())
      validate_value(key, *items, array[i], diagnostics);
    else if (i < items->size())
      validate_value(key, (*items)[i], array[i], diagnostics);
}

void check_members(const std::string& key, const Schema& schema, const Value& table,
                   Diagnostics& diagnostics) {
  const auto names = schema.find("propertyNames");
  for (const Entry& entry : table.as<Table>()->entries()) {
    if (names != schema.end()) validate_name(*names, entry, diagnostics);
    check_member(key, schema, entry, diagnostics);
  }
  if (const auto required = schema.find("required"); required != schema.end())
    for (const Schema& needed : *required)
      if (table.as<Table>()->find(needed.get<std::string>()) == nullptr)
        diagnostics.push_back(
            {table.where, "'" + key + "' needs '" + needed.get<std::string>() + "'"});
}

void check_branches(const std::string& key, const Schema& schema, const Value& value,
                    Diagnostics& diagnostics) {
  for (const char* keyword : {"anyOf", "oneOf"}) {
    const auto branches = schema.find(keyword);
    if (branches == schema.end()) continue;
    Branches tried = try_branches(key, *branches, value);
    if (tried.fitting == 0 && tried.nearest.empty())
      diagnostics.push_back(wrong_type(key, any_type(*branches), value));
    else if (tried.fitting == 0)
      std::move(tried.nearest.begin(), tried.nearest.end(), std::back_inserter(diagnostics));
    else if (tried.fitting > 1 && *keyword == 'o')
      diagnostics.push_back({value.where, "'" + key + "' fits several forms, and must fit one"});
  }
}

}  // namespace exprun
