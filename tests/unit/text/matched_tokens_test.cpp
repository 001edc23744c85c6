// Tokens of two vocabularies with the same text, and where the vocabulary of weights is looked for.
#include "text/matched_tokens.h"

#include <doctest/doctest.h>

#include "base/files/run_folder.h"
#include "support/temporary_folder.h"
#include "text/char_tokenizer.h"
#include "text/prepared_data.h"

using namespace exprun;

namespace {

constexpr int64_t kNone = MatchedTokens::kNone;

using Numbers = std::vector<int64_t>;

constexpr const char* kWords = R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "c": 1}}})";

Numbers theirs(const std::filesystem::path& weights, const Tokenizer& ours) {
  const TokenMatch tokens = match_tokens(weights, ours);
  CHECK(tokens.unknown == "");
  CHECK(why_tokens_are_unknown(weights) == "");
  REQUIRE(tokens.matched);
  return tokens.matched->theirs;
}

void require_unknown(const std::filesystem::path& weights, const Tokenizer& ours,
                     const std::string& why) {
  const TokenMatch tokens = match_tokens(weights, ours);
  CHECK_FALSE(tokens.matched);
  CAPTURE(tokens.unknown);
  CHECK(tokens.unknown.find(why) != std::string::npos);
  CHECK(why_tokens_are_unknown(weights) == tokens.unknown);
}

}  // namespace

TEST_CASE("matched tokens: by text where numbers differ, nothing where they do not") {
  const auto theirs = make_char_tokenizer(U"acd");
  CHECK_FALSE(matched_tokens(*theirs, *make_char_tokenizer(U"acd")));
  CHECK_FALSE(matched_tokens(*theirs, *make_char_tokenizer(U"acde")));
  const auto grown = matched_tokens(*theirs, *make_char_tokenizer(U"abcde"));
  REQUIRE(grown);
  CHECK(grown->theirs == Numbers{0, kNone, 1, 2, kNone});
  CHECK(grown->their_vocab_size == 3);
  CHECK(grown->matched() == 3);
  CHECK(matched_tokens(*theirs, *make_char_tokenizer(U"d"))->theirs == Numbers{2});
}

TEST_CASE("matched tokens: a byte is the character that it writes alone") {
  const auto tokens =
      matched_tokens(*make_byte_tokenizer(), *make_char_tokenizer(U"a\u00e9\u4e2d"));
  REQUIRE(tokens);
  CHECK(tokens->theirs == Numbers{'a', kNone, kNone});
  CHECK(tokens->their_vocab_size == 256);
}

TEST_CASE("matched tokens: the vocabulary of a checkpoint is that of its run's data") {
  const TemporaryFolder folder;
  const RunFolder run{folder.path() / "run"};
  const auto checkpoint = run.checkpoints() / "step_00000010";
  const auto ours = make_char_tokenizer(U"abc");
  require_unknown(checkpoint, *ours, "No such file");
  PreparedData data;
  data.tokenizer = make_char_tokenizer(U"ac")->to_json();
  data.vocab_size = 2;
  folder.write("run/data.json", data.to_json());
  for (const auto& path : {checkpoint, checkpoint / ""})
    CHECK(theirs(path, *ours) == Numbers{0, kNone, 1});
  const auto file = folder.write("run/checkpoints/step_00000010/model.safetensors", "");
  CHECK(theirs(file, *ours) == Numbers{0, kNone, 1});
  const TokenMatch same = match_tokens(checkpoint, *make_char_tokenizer(U"ac"));
  CHECK((!same.matched && same.unknown.empty()));
  data.tokenizer = nullptr;
  folder.write("run/data.json", data.to_json());
  require_unknown(checkpoint, *ours, "their run's data has no tokenizer");
  data.tokenizer = {{"type", "bpe"}, {"vocabulary", (folder.path() / "gone").string()}};
  folder.write("run/data.json", data.to_json());
  require_unknown(checkpoint, *ours, "gone");
  folder.write("run/data.json", "{}");
  require_unknown(checkpoint, *ours, "data.json");
}

TEST_CASE(
    "matched tokens: the vocabulary of a HuggingFace folder, or of a file in it, lies there") {
  const TemporaryFolder folder;
  const auto ours = make_char_tokenizer(U"abc");
  require_unknown(folder.path(), *ours, "contains no vocabulary");
  folder.write("model/tokenizer.json", R"({"model": {"type": "Unigram", "vocab": [["a", 0.0]]}})");
  require_unknown(folder.path() / "model", *ours, "is not the tokenizer.json of a BPE tokenizer");
  const auto file = folder.write("model/tokenizer.json", kWords);
  const auto weights = folder.write("model/model.safetensors", "");
  for (const auto& path : {file.parent_path(), weights})
    CHECK(theirs(path, *ours) == Numbers{0, kNone, 1});
}
