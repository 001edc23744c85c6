// What no recipe can say and only the prepared data tells. Unknown in `check` before a first run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace exprun {

// The shortest sequences, in inputs, that hold an example whole, one up to its first learned token,
// and all examples whole.
struct ExampleLengths {
  std::optional<int64_t> shortest = {}, shortest_beginning = {}, longest = {};

  bool operator==(const ExampleLengths&) const = default;
};

struct DatasetInfo {
  std::optional<int64_t> vocab_size;  // of the dataset's tokenizer
  std::optional<int64_t> train_tokens;
  std::optional<int64_t> validation_tokens;
  std::optional<std::u32string> characters =
      {};  // all that the tokenizer knows, if it takes characters

  // Of data that consist of examples.
  ExampleLengths train_examples = {}, validation_examples = {};

  // Of a large text that is not prepared yet: there cannot be more, and about so many are likely.
  std::optional<int64_t> most_train_tokens = {}, most_validation_tokens = {};
  std::optional<int64_t> likely_validation_tokens = {};

  // Of token shards whose tokenizer the recipe does not name: of the one that a description beside
  // them names, and, where that cannot tell, the least that the tokens that were read need.
  std::optional<int64_t> described_vocab_size = {}, least_vocab_size = {};

  bool operator==(const DatasetInfo&) const = default;
};

}  // namespace exprun
