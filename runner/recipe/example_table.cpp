#include "recipe/example_table.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "recipe/complete.h"
#include "recipe/value_json.h"

namespace exprun {

Table example_table(const SchemaSet& schemas, std::string_view kind, std::string_view type) {
  const Schema* schema = schemas.find(kind, type);
  if (schema == nullptr)
    throw std::logic_error("schema: there is no " + std::string(kind) + " " + std::string(type));
  Table table;
  table.set("type", {}, Value(std::string(type), {}, Origin::file));
  for (const auto& [key, property] : (*schema)["properties"].items()) {
    const auto example = property.find("examples");
    const auto usual = property.find("default");
    const Schema* value = example != property.end() ? &example->front()
                          : usual != property.end() ? &*usual
                                                    : nullptr;
    if (value != nullptr)
      table.set(key, {}, normalized(property, value_of_json(*value, Origin::file)));
  }
  return table;
}

}  // namespace exprun
