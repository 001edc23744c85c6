// tokenizer.json of HuggingFace's tokenizers: BPE over bytes, words by a pattern, added tokens.
// What would give other tokens than ours (a normalizer, other pre-tokenizers, byte fallback,
// patterns that other libraries read otherwise) is refused by name.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "text/byte_alphabet.h"
#include "text/gpt2_split.h"
#include "text/known_patterns.h"
#include "text/regex_dialect.h"
#include "text/token_ids.h"
#include "text/vocabulary_readers.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Reader {
 public:
  explicit Reader(const fs::path& file) : file_(file), ids_(vocabulary_, file) {}

  BpeVocabulary read() {
    const json root = parse_json<json>(read_file(file_));
    refuse_normalizer(root.value("normalizer", json()));
    read_words(root.at("pre_tokenizer"));
    if (!has_bytes_) refuse("has no ByteLevel");
    read_model(root.at("model"));
    const json& model = root.at("model").at("vocab");
    for (const json& added : root.value("added_tokens", json::array())) read_added(added, model);
    return std::move(vocabulary_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(
        "tokenizer: '" + file_.string() + "' " + what +
        "; only byte-level BPE (ByteLevel, with or without Split and Digits before it) is exact");
  }

  // A sequence of none is what some files have.
  void refuse_normalizer(const json& step) const {
    if (step.is_null()) return;
    const auto type = step.at("type").get<std::string>();
    if (type != "Sequence") refuse("has the normalizer " + type);
    for (const json& part : step.at("normalizers")) refuse_normalizer(part);
  }

  void read_words(const json& step) {
    const auto type = step.at("type").get<std::string>();
    if (type == "Sequence") {
      for (const json& part : step.at("pretokenizers")) read_words(part);
    } else if (type == "Split") {
      read_split(step);
    } else if (type == "Digits") {
      take_pattern(step.value("individual_digits", false) ? kEachNumber : kRunsOfNumbers);
    } else if (type == "ByteLevel") {
      if (has_bytes_) refuse("has ByteLevel twice");
      if (step.value("add_prefix_space", true)) refuse("adds a space before every text");
      if (step.value("use_regex", true)) take_pattern(kGpt2Pattern);
      has_bytes_ = true;
    } else {
      refuse("has a pre_tokenizer of the type " + type);
    }
  }

  void read_split(const json& split) {
    const json& pattern = split.at("pattern");
    if (!pattern.contains("Regex")) refuse("splits at a string");
    const auto text = pattern.at("Regex").get<std::string>();
    const auto behavior = split.at("behavior").get<std::string>();
    const bool inverted = split.value("invert", false);
    if (behavior == "Removed" && inverted && family_of(text) == PatternFamily::unknown)
      refuse("removes what its pattern does not match");
    if (!(behavior == "Isolated" && !inverted) && !(behavior == "Removed" && inverted))
      refuse("splits with the behavior " + behavior + (inverted ? ", inverted" : ""));
    take_pattern(text);
  }

  void take_pattern(const std::string& pattern) {
    if (has_bytes_) refuse("splits behind ByteLevel");
    if (const std::string foreign = foreign_construct(pattern); !foreign.empty())
      refuse("splits by a pattern with " + foreign + ", which PCRE2 reads otherwise");
    const bool is_gpt2 = family_of(pattern) == PatternFamily::gpt2;
    vocabulary_.patterns.push_back(is_gpt2 ? kGpt2Pattern : pattern);
  }

  void read_model(const json& model) {
    if (model.value("type", "BPE") != "BPE") refuse("is of the type " + json_text(model["type"]));
    if (model.value("byte_fallback", false)) refuse("falls back to bytes");
    if (!model.value("dropout", json()).is_null()) refuse("drops merges at random");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const json part = model.value(key, json()); part.is_string() && part != "")
        refuse(std::string("has the key ") + key);
    vocabulary_.whole_words = model.value("ignore_merges", false);
    for (const auto& [name, id] : model.at("vocab").items())
      ids_.add(bytes_of_alphabet(name).value_or(name), whole_id(id));
    ids_.index();
    MergeSides merges;
    for (const json& merge : model.at("merges")) read_merge(merge, merges);
    ids_.add_merges(merges, file_);
  }

  // "a b", or ["a", "b"] since 2024.
  void read_merge(const json& merge, MergeSides& merges) {
    std::string left, right;
    if (merge.is_array()) {
      left = merge.at(0).get<std::string>();
      right = merge.at(1).get<std::string>();
    } else {
      const auto both = merge.get<std::string>();
      left = both.substr(0, both.find(' '));
      right = both.substr(left.size() + 1);
    }
    const auto a = bytes_of_alphabet(left), b = bytes_of_alphabet(right);
    if (!a || !b) refuse("merges what stands for no bytes, '" + left + "' and '" + right + "'");
    merges.bytes.append(*a).append(*b);
    merges.sizes.push_back({static_cast<uint32_t>(a->size()), static_cast<uint32_t>(b->size())});
  }

  // Tokenizers numbers them anew: as the model does, or behind all before.
  uint64_t id_of_added(const std::string& text, const json& model) const {
    if (const auto same = model.find(text); same != model.end()) return whole_id(*same);
    return std::max(uint64_t{model.size()}, last_added_ + 1);
  }

  uint64_t whole_id(const json& id) const {
    if (!id.is_number_unsigned())
      throw ids_.error("has the id " + json_text(id) + ", which is no whole number");
    return id.get<uint64_t>();
  }

  void read_added(const json& added, const json& model) {
    const auto text = added.at("content").get<std::string>();
    const uint64_t written = whole_id(added.at("id"));
    const auto id = static_cast<uint32_t>(written);
    if (text.empty()) refuse("has an added token of no text");
    if (const auto expected = id_of_added(text, model); written != expected)
      refuse("gives the added token " + json_text(json(text)) + " the id " +
             std::to_string(written) + ", where tokenizers gives it " + std::to_string(expected));
    last_added_ = std::max(last_added_, uint64_t{id});
    const bool special = added.value("special", false);
    for (const char* key : {"single_word", "lstrip", "rstrip"})
      if (!special && added.value(key, false))
        refuse("has the added token " + json_text(json(text)) + " with " + key);
    const bool known = id < vocabulary_.tokens.size() && vocabulary_.tokens[id] == text;
    if (!known) {
      ids_.add(text, id);
      vocabulary_.beside_model.push_back(id);
    }
    vocabulary_.added.push_back({text, id, special, added.value("normalized", !special)});
    if (special) vocabulary_.special.emplace_back(text, id);
  }

  fs::path file_;
  BpeVocabulary vocabulary_;
  TokenIds ids_;
  uint64_t last_added_ = 0;
  bool has_bytes_ = false;
};

}  // namespace

BpeVocabulary read_tokenizer_json(const fs::path& file) try {
  return Reader(file).read();
} catch (const json::exception& error) {
  throw Error("tokenizer: '" + file.string() + "' is no tokenizer.json of a BPE (" +
              json_problem(error) + ")");
} catch (const std::out_of_range&) {
  throw Error("tokenizer: '" + file.string() + "' has a merge of one token; fetch it again");
}

}  // namespace exprun
