#include "text/matched_tokens.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "text/bpe/bpe_vocabulary.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> texts_of(const Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (int64_t token = 0; token < tokenizer.vocab_size(); ++token)
    texts.push_back(tokenizer.decode({&token, 1}));
  return texts;
}

// kNone for a text of several.
std::unordered_map<std::string_view, int64_t> numbers_of(const std::vector<std::string>& texts) {
  std::unordered_map<std::string_view, int64_t> numbers;
  for (size_t i = 0; i < texts.size(); ++i)
    if (const auto [known, is_new] = numbers.emplace(texts[i], static_cast<int64_t>(i)); !is_new)
      known->second = MatchedTokens::kNone;
  return numbers;
}

// Large vocabularies take a quarter of a second to read.
bool is_vocabulary_of(const json& ours, const fs::path& folder) {
  const json kept = ours.value("vocabulary", json());
  return kept.is_string() && is_same_vocabulary(kept.get<std::string>(), folder);
}

// Of the run that wrote the weights, null where its data had none; nothing of other weights.
std::optional<json> tokenizer_of_run(const fs::path& weights) {
  const auto checkpoint = checkpoint_at(weights);
  if (!checkpoint || !path_exists(checkpoint->run.data())) return std::nullopt;
  return PreparedData::load(checkpoint->run.data()).tokenizer;
}

fs::path vocabulary_folder(const fs::path& weights) {
  std::error_code ignored;
  const bool is_folder = folder_exists(weights);
  return is_folder ? weights : fs::absolute(weights, ignored).parent_path();
}

// Null where it is `ours`, in the form of to_json. Throws Error where it is not known.
std::unique_ptr<Tokenizer> other_tokenizer(const fs::path& weights, const json& ours) {
  if (const auto theirs = tokenizer_of_run(weights)) {
    if (theirs->is_null()) throw Error("their run's data has no tokenizer");
    return *theirs == ours ? nullptr : load_tokenizer(*theirs);
  }
  const fs::path folder = vocabulary_folder(weights);
  return is_vocabulary_of(ours, folder) ? nullptr : load_vocabulary(folder);
}

}  // namespace

int64_t MatchedTokens::matched() const {
  return static_cast<int64_t>(theirs.size()) - std::count(theirs.begin(), theirs.end(), kNone);
}

std::optional<MatchedTokens> matched_tokens(const Tokenizer& theirs, const Tokenizer& ours) {
  const std::vector<std::string> their_texts = texts_of(theirs), our_texts = texts_of(ours);
  if (their_texts.size() <= our_texts.size() &&
      std::equal(their_texts.begin(), their_texts.end(), our_texts.begin()))
    return std::nullopt;
  const auto numbers = numbers_of(their_texts);
  MatchedTokens tokens{{}, theirs.vocab_size()};
  for (size_t i = 0; i < our_texts.size(); ++i) {
    const bool same_number = i < their_texts.size() && their_texts[i] == our_texts[i];
    const auto known = numbers.find(our_texts[i]);
    tokens.theirs.push_back(same_number              ? static_cast<int64_t>(i)
                            : known == numbers.end() ? MatchedTokens::kNone
                                                     : known->second);
  }
  return tokens;
}

TokenMatch match_tokens(const fs::path& weights, const Tokenizer& ours) try {
  const auto theirs = other_tokenizer(weights, ours.to_json());
  return {theirs ? matched_tokens(*theirs, ours) : std::nullopt};
} catch (const Error& error) {
  return {std::nullopt, error.what()};
}

std::string why_tokens_are_unknown(const fs::path& weights) try {
  other_tokenizer(weights, json::object());
  return "";
} catch (const Error& error) {
  return error.what();
}

}  // namespace exprun
