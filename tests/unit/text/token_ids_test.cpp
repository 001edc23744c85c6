#include "text/bpe/token_ids.h"

#include <doctest/doctest.h>

using namespace exprun;

TEST_CASE("token ids: as many merges as there are ranks, no more") {
  BpeVocabulary vocabulary;
  TokenIds ids(vocabulary, "vocab.json");
  ids.add("a", 0);
  ids.add("aa", 1);
  ids.index();
  MergeSides merges{"aa", {{1, 1}}};
  ids.add_merges(merges, "merges.txt");
  CHECK(vocabulary.merges.size() == 1);
  merges.sizes.resize(kMostMerges + 1);
  CHECK_THROWS_WITH_AS(
      ids.add_merges(merges, "merges.txt"),
      "tokenizer: 'merges.txt' has 4,194,304 merges, but fewer than 2^22 fit; fetch "
      "the file again, or use another vocabulary",
      Error);
}
