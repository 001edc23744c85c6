#include "control/data/text_options.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace exprun {
namespace {

// Checks that at most one rule of validation is there, and makes the default give way.
void choose_rule(const Section& dataset, bool fraction_written, TextOptions& options) {
  std::string rule;
  const auto take = [&](const char* key, bool there) {
    if (!there) return;
    if (!rule.empty())
      throw dataset.error(
          key, std::string("'") + key + "' and '" + rule + "' both say what is kept for validation",
          "keep one of them");
    rule = key;
  };
  take("validation", dataset.has("validation"));
  take("validation_tokens", options.validation_tokens > 0);
  take("validation_every", options.validation_every > 0);
  take("validation_fraction", fraction_written && options.validation_fraction > 0);
  if (!rule.empty() && rule != "validation_fraction") options.validation_fraction = 0;
}

// Raise it when the same text would become other tokens.
constexpr const char* kMethod = "text 4";
// Raise it when the same record would become another text.
constexpr const char* kRecordMethod = " records 2";

}  // namespace

nlohmann::json TextOptions::to_json() const {
  return {{"format", format},
          {"template", text_template},
          {"fallback_template", fallback_template},
          {"tokenizer", tokenizer},
          {"separator", separator},
          {"keep_separator", keep_separator},
          {"end_of_text", end_of_text},
          {"validation_fraction", validation_fraction},
          {"validation_tokens", validation_tokens},
          {"validation_every", validation_every},
          {"shard_tokens", shard_tokens},
          {"block_tokens", block_tokens},
          {"block_documents", block_documents}};
}

// The same bytes are other records as a.jsonl than as a.txt; a text's format is not said.
std::string TextOptions::identity(const std::vector<RawSource>& sources) const {
  std::string formats;
  for (const RawSource& source : sources)
    formats += " " + format_of_file(source.source.file, format);
  const bool all_are_texts = formats.find("json") == formats.npos;
  const std::string identity = std::string(kMethod) + " " + json_text(to_json());
  if (all_are_texts) return identity;
  return identity + (format == "auto" ? formats : "") + kRecordMethod;
}

TextOptions text_options(const Section& dataset, bool fraction_written) {
  TextOptions options;
  options.format = dataset.get<std::string>("format");
  options.text_template = dataset.get<std::string>("template");
  options.fallback_template = dataset.find<std::string>("fallback_template").value_or("");
  options.tokenizer = dataset.get<std::string>("tokenizer");
  options.vocabulary = dataset.get<std::string>("vocabulary");
  options.separator = dataset.get<std::string>("separator");
  options.keep_separator = dataset.get<bool>("keep_separator");
  options.end_of_text = dataset.get<std::string>("end_of_text");
  options.validation_fraction = dataset.get<double>("validation_fraction");
  options.validation_tokens = dataset.get<int64_t>("validation_tokens");
  options.validation_every = dataset.get<int64_t>("validation_every");
  options.shard_tokens = dataset.get<int64_t>("shard_tokens");
  options.block_tokens = dataset.get<int64_t>("block_tokens");
  options.block_documents = dataset.get<int64_t>("block_documents");
  choose_rule(dataset, fraction_written, options);
  return options;
}

}  // namespace exprun
