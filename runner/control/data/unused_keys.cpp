#include "control/data/unused_keys.h"

#include <algorithm>
#include <array>
#include <string>

#include "control/data/read/records.h"

namespace exprun {
namespace {

constexpr const char* kOfTexts = "separator";
constexpr std::array kOfRecords = {"template", "fallback_template"};

// Null for a key that is not written, or empty.
const Value* written(const Table& dataset, const char* key) {
  const Value* value = dataset.find(key);
  if (!value || value->origin == Origin::default_value) return nullptr;
  return value->as<std::string>()->empty() ? nullptr : value;
}

}  // namespace

bool may_have_unused_keys(const Table& dataset) {
  return written(dataset, kOfTexts) ||
         std::any_of(kOfRecords.begin(), kOfRecords.end(),
                     [&](const char* key) { return written(dataset, key) != nullptr; });
}

Diagnostics unused_keys(const Table& dataset, const SplitSources& sources) {
  bool texts = false, records = false;
  const auto& format = *dataset.find("format")->as<std::string>();
  for (const auto* split : {&sources.train, &sources.validation})
    for (const Source& source : *split)
      (format_of_file(source.file, format) == "text" ? texts : records) = true;
  Diagnostics warnings;
  const auto warn = [&](const char* key, const std::string& kind, const std::string& help) {
    if (const Value* value = written(dataset, key))
      warnings.push_back({value->where,
                          "'" + std::string(key) + "' has no effect where every source is " + kind,
                          help,
                          {},
                          Severity::warning});
  };
  if (!texts) warn(kOfTexts, "JSON", "a record is a document");
  for (const char* key : kOfRecords)
    if (!records)
      warn(key, "text", "write format = \"json_lines\" or \"json\" if they hold records");
  return warnings;
}

}  // namespace exprun
