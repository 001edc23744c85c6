#include "control/data/empty_split.h"

#include "base/counted.h"
#include "base/number.h"

namespace exprun {
namespace {

// The key that says what is kept for validation, or none.
std::string rule_of(const Section& dataset, const TextOptions& options) {
  if (dataset.has("validation")) return "validation";
  if (options.validation_tokens > 0) return "validation_tokens";
  if (options.validation_every > 0) return "validation_every";
  return options.validation_fraction > 0 ? "validation_fraction" : "";
}

RecipeError no_full_block(const Section& dataset, const TextOptions& options, const char* split) {
  return dataset.error(
      "block_tokens",
      "no block of " + with_thousands(options.block_tokens) + " tokens is full for " + split,
      "write a smaller block_tokens, or 0 to keep every token");
}

RecipeError no_text(const Section& dataset, const TextOptions& options, const SplitCounts& counts) {
  const std::string texts =
      counts.documents == 1 ? "the text of the one record is"
                            : "the texts of all " + counted(counts.documents, "record") + " are";
  if (counts.documents > 0 && counts.text_bytes == 0 && options.separator.empty())
    return dataset.error("template", texts + " empty, so there is no token to train on",
                         "dataset.template says which fields are read");
  return dataset.error("path", "no text is in the sources, so there is no token to train on");
}

}  // namespace

void refuse_empty_split(const Section& dataset, const TextOptions& options,
                        const SplitCounts& counts) {
  const std::string rule = rule_of(dataset, options);
  const bool blocks = options.block_tokens > 0 && counts.text_bytes > 0;
  if (counts.train_tokens == 0 && blocks) throw no_full_block(dataset, options, "training");
  if (counts.train_tokens == 0 && counts.validation_tokens > 0 && rule != "validation")
    throw dataset.error(
        rule,
        "'" + rule + "' keeps " +
            (counts.validation_tokens == 1 ? "the one token"
                                           : "all " + counted(counts.validation_tokens, "token")) +
            " for validation, none is left for training",
        "keep fewer");
  if (counts.train_tokens == 0) throw no_text(dataset, options, counts);
  if (rule.empty() || counts.validation_tokens > 0) return;
  if (blocks) throw no_full_block(dataset, options, "validation");
  if (rule == "validation")
    throw dataset.error(rule, "no text is in the files, so there is no token to validate on");
  const std::string documents =
      counts.documents > 1 ? " (" + with_thousands(counts.documents) + " documents)" : "";
  throw dataset.error(rule,
                      "'" + rule + "' keeps none of " + counted(counts.train_tokens, "token") +
                          documents + " for validation",
                      rule == "validation_fraction"
                          ? "keep more, or write 0"
                          : "keep more, or write validation_fraction = 0 in its place");
}

}  // namespace exprun
