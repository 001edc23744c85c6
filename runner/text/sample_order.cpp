#include "text/sample_order.h"

#include <bit>
#include <stdexcept>

#include "base/random.h"

namespace exprun {
namespace {

constexpr int kRounds = 6;

// A bijection on [0, 4^half_bits) that depends on (seed, epoch): a balanced Feistel network.
uint64_t feistel(uint64_t value, int half_bits, uint64_t seed, uint64_t epoch) {
  static const uint64_t kStream = random_word("shuffled_blocks");
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = value >> half_bits;
  uint64_t right = value & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t mixed = left ^ (random_bits({kStream, seed, epoch, round, right}) & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits | right;
}

// The block at `position` of an epoch. Cycle walking: apply the bijection of the next larger
// domain (at most four times as large) until it lands below `blocks`.
uint64_t shuffled_block(uint64_t position, uint64_t blocks, uint64_t seed, uint64_t epoch) {
  const int half_bits = (std::bit_width(blocks - 1) + 1) / 2;
  do position = feistel(position, half_bits, seed, epoch);
  while (position >= blocks);
  return position;
}

int64_t random_offset(const SampleSpace& space, int64_t seed, int64_t index) {
  static const uint64_t kStream = random_word("random_offsets");
  const auto starts = static_cast<uint64_t>(space.tokens - space.sample_tokens() + 1);
  return static_cast<int64_t>(
      random_below(starts, {kStream, static_cast<uint64_t>(seed), static_cast<uint64_t>(index)}));
}

}  // namespace

SampleOrder sample_order(const std::string& name) {
  if (name == "sequential") return SampleOrder::sequential;
  if (name == "shuffled_blocks") return SampleOrder::shuffled_blocks;
  if (name == "random_offsets") return SampleOrder::random_offsets;
  throw std::logic_error("sample order '" + name + "' is in a schema but not in sample_order.cpp");
}

int64_t samples_per_epoch(SampleOrder order, const SampleSpace& space) {
  return order == SampleOrder::random_offsets ? 0 : space.blocks();
}

int64_t sample_offset(SampleOrder order, const SampleSpace& space, int64_t seed, int64_t index) {
  if (order == SampleOrder::random_offsets) return random_offset(space, seed, index);
  const int64_t blocks = space.blocks();
  int64_t block = index % blocks;
  if (order == SampleOrder::shuffled_blocks)
    block = static_cast<int64_t>(
        shuffled_block(static_cast<uint64_t>(block), static_cast<uint64_t>(blocks),
                       static_cast<uint64_t>(seed), static_cast<uint64_t>(index / blocks)));
  return block * space.sequence_length;
}

}  // namespace exprun
