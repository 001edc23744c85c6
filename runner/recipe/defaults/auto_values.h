// The value of a key that is "auto": one small function a key, from other keys and from the data.
#pragma once

#include <optional>
#include <string>

#include "base/dataset_info.h"
#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

struct DeriveInput {
  const SchemaSet& schemas;
  const Table& root;  // all defaults are in; what is not yet derived is "auto"
  const DatasetInfo& dataset_info;
  std::string file;  // the recipe's path
};

// `path` is "checkpoint.every"; `type` is that of its table, or empty. Nothing if the value cannot
// be known yet, or is the machine's to choose (threads, device): "auto" stays.
std::optional<Value::Data> derive(const DeriveInput& input, const std::string& path,
                                  const std::string& type);

// What a recipe file called "STEM.toml" calls its runs, unless it says another name.
std::string name_of_runs(const SchemaSet& schemas, const std::string& stem);

}  // namespace exprun
