// What no recipe can say and only the prepared data tells. Unknown in `check` before a first run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace exprun {

struct DatasetInfo {
  std::optional<int64_t> vocab_size;  // of the dataset's tokenizer
  std::optional<int64_t> train_tokens;
  std::optional<int64_t> validation_tokens;
  std::optional<std::u32string> characters =
      {};  // all that the tokenizer knows, if it takes characters

  // Of examples: the shortest sequences that hold one of them whole, and the beginning of one up to
  // its first learned token.
  std::optional<int64_t> shortest_example = {}, shortest_beginning = {};

  // Of a text that is not prepared yet: there cannot be more.
  std::optional<int64_t> most_train_tokens = {}, most_validation_tokens = {};

  bool operator==(const DatasetInfo&) const = default;
};

}  // namespace exprun
