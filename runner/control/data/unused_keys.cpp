#include "control/data/unused_keys.h"

#include <string>

#include "control/data/read/records.h"

namespace exprun {

Diagnostics unused_keys(const Table& dataset, const SplitSources& sources) {
  bool texts = false, records = false;
  const auto& format = *dataset.find("format")->as<std::string>();
  for (const auto* split : {&sources.train, &sources.validation})
    for (const Source& source : *split)
      (format_of_file(source.file, format) == "text" ? texts : records) = true;
  Diagnostics warnings;
  const auto warn = [&](const char* key, const std::string& kind, const std::string& help) {
    const Value* value = dataset.find(key);
    const bool written = value && value->origin != Origin::default_value;
    if (written && !value->as<std::string>()->empty())
      warnings.push_back({value->where,
                          "'" + std::string(key) + "' has no effect where every source is " + kind,
                          help,
                          {},
                          Severity::warning});
  };
  if (!texts) warn("separator", "JSON", "a record is a document");
  for (const char* key : {"template", "fallback_template"})
    if (!records)
      warn(key, "text", "write format = \"json_lines\" or \"json\" if they hold records");
  return warnings;
}

}  // namespace exprun
