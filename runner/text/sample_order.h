// Which tokens a sample is made of: a pure function of (seed, global sample index), so no position
// is saved, a resume starts anywhere at once, and neither world size nor micro-batch changes it.
#pragma once

#include <cstdint>
#include <string>

namespace exprun {

enum class SampleOrder {
  sequential,       // block after block; every epoch begins at the first token again
  shuffled_blocks,  // every block once an epoch, in a new order each epoch
  random_offsets,   // any start, with replacement, as nanoGPT draws them
};

// By its word in a recipe: "shuffled_blocks".
SampleOrder sample_order(const std::string& name);

// Whether the target of a sequence's last token is the first token of what follows.
enum class Blocks {
  overlapping,  // it is: neighbours share a token, and every token is predicted
  separate,     // there is none: blocks that were packed each for itself
};

// A split as samples see it: T inputs and T targets, shifted by one, are T + 1 tokens (T where
// blocks are separate), and block i begins at token i * T.
struct SampleSpace {
  int64_t tokens = 0;
  int64_t sequence_length = 0;
  bool separate = false;
  bool to_the_end = false;  // the last block may be one that is not full

  int64_t sample_tokens() const { return sequence_length + !separate; }
  int64_t blocks() const {
    const int64_t rest = to_the_end ? sequence_length - 1 : 0;
    return tokens > 0 ? (tokens - !separate + rest) / sequence_length : 0;
  }
};

// 0 if the order has no epochs.
int64_t samples_per_epoch(SampleOrder order, const SampleSpace& space);

// The first token of sample `index` (from 0, without end). The space has at least one block.
int64_t sample_offset(SampleOrder order, const SampleSpace& space, int64_t seed, int64_t index);

}  // namespace exprun
