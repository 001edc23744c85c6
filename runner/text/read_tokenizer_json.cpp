// tokenizer.json of HuggingFace's tokenizers: BPE over bytes, words by a pattern. What would give
// other tokens than ours (a normalizer, other pre-tokenizers, byte fallback) is refused by name.
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "text/byte_alphabet.h"
#include "text/gpt2_split.h"
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
    if (!root.value("normalizer", json()).is_null()) refuse("has a normalizer");
    read_words(root.at("pre_tokenizer"));
    read_model(root.at("model"));
    for (const json& added : root.value("added_tokens", json::array())) read_added(added);
    return std::move(vocabulary_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error("tokenizer: '" + file_.string() + "' " + what +
                "; only byte-level BPE (ByteLevel, with or without a Split before it) is exact");
  }

  void read_words(const json& step) {
    const auto type = step.at("type").get<std::string>();
    if (type == "Sequence") {
      for (const json& part : step.at("pretokenizers")) read_words(part);
    } else if (type == "Split") {
      read_split(step);
    } else if (type == "ByteLevel") {
      if (step.value("add_prefix_space", true)) refuse("adds a space before every text");
      if (step.value("use_regex", true)) take_pattern(kGpt2Pattern);
    } else {
      refuse("has a pre_tokenizer of the type " + type);
    }
  }

  void read_split(const json& split) {
    const json& pattern = split.at("pattern");
    if (!pattern.contains("Regex")) refuse("splits at a string");
    const auto behavior = split.at("behavior").get<std::string>();
    const bool inverted = split.value("invert", false);
    if (!(behavior == "Isolated" && !inverted) && !(behavior == "Removed" && inverted))
      refuse("splits with the behavior " + behavior);
    take_pattern(pattern.at("Regex").get<std::string>());
  }

  void take_pattern(const std::string& pattern) {
    if (!vocabulary_.pattern.empty()) refuse("splits twice");
    vocabulary_.pattern = is_gpt2(pattern) ? kGpt2Pattern : pattern;
  }

  // GPT-2's pattern as OpenAI first wrote it.
  static bool is_gpt2(const std::string& pattern) {
    return pattern ==
           R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  }

  void read_model(const json& model) {
    if (model.value("type", "BPE") != "BPE") refuse("is of the type " + json_text(model["type"]));
    if (model.value("byte_fallback", false)) refuse("falls back to bytes");
    if (!model.value("dropout", json()).is_null()) refuse("drops merges at random");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const json part = model.value(key, json()); part.is_string() && part != "")
        refuse(std::string("has a ") + key);
    vocabulary_.whole_words = model.value("ignore_merges", false);
    for (const auto& [name, id] : model.at("vocab").items())
      ids_.add(bytes_of_alphabet(name).value_or(name), id.get<uint64_t>());
    for (const json& merge : model.at("merges")) read_merge(merge);
  }

  // "a b", or ["a", "b"] since 2024.
  void read_merge(const json& merge) {
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
    ids_.add_merge(*a, *b);
  }

  void read_added(const json& added) {
    const auto text = added.at("content").get<std::string>();
    const auto id = added.at("id").get<uint32_t>();
    const bool known = id < vocabulary_.tokens.size() && vocabulary_.tokens[id] == text;
    if (!known) ids_.add(text, id);
    vocabulary_.special.emplace_back(text, id);
  }

  fs::path file_;
  BpeVocabulary vocabulary_;
  TokenIds ids_;
};

}  // namespace

BpeVocabulary read_tokenizer_json(const fs::path& file) try {
  return Reader(file).read();
} catch (const json::exception& error) {
  throw Error("tokenizer: '" + file.string() + "' is no tokenizer.json of a BPE (" + error.what() +
              ")");
} catch (const std::out_of_range&) {
  throw Error("tokenizer: '" + file.string() + "' has a merge of one token; fetch it again");
}

}  // namespace exprun
