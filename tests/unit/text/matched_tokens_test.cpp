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
  CHECK_FALSE(tokens_matched_with_weights(checkpoint, *ours));
  PreparedData data;
  data.tokenizer = make_char_tokenizer(U"ac")->to_json();
  data.vocab_size = 2;
  folder.write("run/data.json", data.to_json());
  for (const auto& path : {checkpoint, checkpoint / ""})
    CHECK(tokens_matched_with_weights(path, *ours)->theirs == Numbers{0, kNone, 1});
  const auto file = folder.write("run/checkpoints/step_00000010/model.safetensors", "");
  CHECK(tokens_matched_with_weights(file, *ours)->theirs == Numbers{0, kNone, 1});
  CHECK_FALSE(tokens_matched_with_weights(checkpoint, *make_char_tokenizer(U"ac")));
  folder.write("run/data.json", "{}");
  CHECK_FALSE(tokens_matched_with_weights(checkpoint, *ours));
}

TEST_CASE(
    "matched tokens: the vocabulary of a HuggingFace folder, or of a file in it, lies there") {
  const TemporaryFolder folder;
  const auto ours = make_char_tokenizer(U"abc");
  CHECK_FALSE(tokens_matched_with_weights(folder.path(), *ours));
  const auto file = folder.write("model/tokenizer.json", kWords);
  const auto weights = folder.write("model/model.safetensors", "");
  for (const auto& path : {file.parent_path(), weights})
    CHECK(tokens_matched_with_weights(path, *ours)->theirs == Numbers{0, kNone, 1});
}
