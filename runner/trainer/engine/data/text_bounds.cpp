#include "engine/data/text_bounds.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/log.h"
#include "huggingface/tokenizer_settings.h"
#include "recipe/paths.h"
#include "text/bpe/bpe_vocabulary.h"
#include "text/example_template.h"

namespace exprun {
namespace {

// Nothing for a tokenizer without a vocabulary's files, or where another one lies there by now.
std::optional<TokenizerSettings> settings_beside_vocabulary(const Tokenizer& tokenizer,
                                                            const Section& dataset) {
  const nlohmann::json kept = tokenizer.to_json().value("vocabulary", nlohmann::json());
  if (!kept.is_string() || !dataset.has("vocabulary")) return std::nullopt;
  const std::filesystem::path path =
      expand_path(dataset.get<std::string>("vocabulary"), libtorch_folder());
  if (!is_same_vocabulary(kept.get<std::string>(), path)) return std::nullopt;
  return tokenizer_settings(folder_of_vocabulary(path));
}

void add_ends(const TokenizerSettings& settings, const Tokenizer& tokenizer, TextBounds& bounds) {
  std::vector<uint64_t> ids = settings.end_ids();
  if (const auto token = tokenizer.special_token(settings.end_token())) ids.push_back(*token);
  for (const uint64_t id : ids)
    if (std::find(bounds.ends.begin(), bounds.ends.end(), id) == bounds.ends.end() &&
        id < static_cast<uint64_t>(tokenizer.vocab_size()))
      bounds.ends.push_back(static_cast<uint32_t>(id));
}

}  // namespace

TextBounds text_bounds(const Tokenizer& tokenizer, const Section& dataset) {
  TextBounds bounds = tokenizer.bounds();
  if (dataset.type() == "instruction")
    bounds = ExampleTemplate(dataset.get<std::string>("template")).bounds(tokenizer);
  try {
    if (const auto settings = settings_beside_vocabulary(tokenizer, dataset))
      add_ends(*settings, tokenizer, bounds);
  } catch (const Error& error) {
    log_warning(std::string(error.what()) + "; its end-of-text tokens are unknown");
  }
  return bounds;
}

}  // namespace exprun
