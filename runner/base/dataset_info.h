// What no recipe can say and only the prepared data tells. Unknown in `check` before a first run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace exprun {

// The shortest sequences, in inputs, that hold an example whole, one up to its first learned token,
// and all examples whole.
struct ExampleLengths {
  std::optional<int64_t> shortest = {}, shortest_beginning = {}, longest = {};

  bool operator==(const ExampleLengths&) const = default;
};

// How many sequences the examples of a split make, packed into as few as they fit into.
class PackedSequences {
 public:
  // Of sequences of at most `length` inputs; longer examples are truncated, or dropped.
  using Count = std::function<int64_t(int64_t length, bool truncates)>;

  PackedSequences() = default;
  explicit PackedSequences(Count count) : count_(std::make_shared<const Count>(std::move(count))) {}

  explicit operator bool() const { return count_ != nullptr; }
  int64_t operator()(int64_t length, bool truncates) const { return (*count_)(length, truncates); }

  bool operator==(const PackedSequences&) const = default;  // of one reading of the data

 private:
  std::shared_ptr<const Count> count_;
};

struct DatasetInfo {
  std::optional<int64_t> vocab_size;  // of the dataset's tokenizer
  std::optional<int64_t> train_tokens;
  std::optional<int64_t> validation_tokens;
  std::optional<std::u32string> characters =
      {};  // all that the tokenizer knows, if it takes characters

  // Of data that consist of examples.
  ExampleLengths train_examples = {}, validation_examples = {};
  PackedSequences train_sequences = {};

  // Of a large text that is not prepared yet: there cannot be more, and about so many are likely.
  std::optional<int64_t> most_train_tokens = {}, most_validation_tokens = {};
  std::optional<int64_t> likely_validation_tokens = {};

  // Of token shards whose tokenizer the recipe does not name: of the one that a description beside
  // them names, and, where that cannot tell, the least that the tokens that were read need.
  std::optional<int64_t> described_vocab_size = {}, least_vocab_size = {};

  bool operator==(const DatasetInfo&) const = default;
};

}  // namespace exprun
