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

// Fills a valid recipe: canonical spellings, defaults, derived values, the order of the schemas.

// Every table and every key with a default exists afterwards; "auto" is replaced where it can be.
void complete(const SchemaSet& schemas, Table& root, const DatasetInfo& dataset_info,
              const std::string& file);

// In its canonical spelling: 1 for a float is 1.0, "1k steps" is "1000 steps".
Value normalized(const Schema& schema, Value value);

}  // namespace exprun
