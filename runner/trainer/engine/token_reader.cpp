#include "engine/token_reader.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/diagnostic.h"

namespace exprun {
namespace {

MappedFile map_shard(const TokenShard& shard) {
  MappedFile file(shard.path);
  const int64_t expected = shard.first_byte + shard.tokens * int64_t{sizeof(uint16_t)};
  const auto size = static_cast<int64_t>(file.bytes().size());
  // A page behind the end of a mapped file is a SIGBUS: compare before anything is read.
  if (size != expected)
    throw Error("token shard: '" + shard.path + "' has " + std::to_string(size) + " bytes, but " +
                std::to_string(expected) +
                " when it was prepared; restore it, or start a new run with --new");
  return file;
}

// Two plain loops, which a compiler can vectorise; the tokens are in the nearest cache for the
// second.
int64_t widen(const uint16_t* tokens, int64_t count, int64_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = tokens[i];
  uint16_t largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, tokens[i]);
  return largest;
}

}  // namespace

int64_t token_count(const std::vector<TokenShard>& shards) {
  int64_t tokens = 0;
  for (const TokenShard& shard : shards) tokens += shard.tokens;
  return tokens;
}

TokenReader::TokenReader(const std::vector<TokenShard>& shards) {
  for (const TokenShard& shard : shards) {
    if (shard.tokens == 0) continue;
    MappedFile file = map_shard(shard);
    auto* data = reinterpret_cast<const uint16_t*>(file.bytes().data() + shard.first_byte);
    pieces_.push_back({std::move(file), data, tokens_, tokens_ + shard.tokens});
    tokens_ += shard.tokens;
  }
}

Batch TokenReader::read(std::span<const int64_t> offsets, int64_t length) const {
  const auto count = static_cast<int64_t>(offsets.size());
  Batch batch{at::empty({count, length}, at::kLong), at::empty({count, length}, at::kLong)};
  auto* inputs = batch.inputs.data_ptr<int64_t>();    // (B, T)
  auto* targets = batch.targets.data_ptr<int64_t>();  // (B, T)
  for (const int64_t offset : offsets) {
    const int64_t in_inputs = copy(offset, length, inputs);
    const int64_t in_targets = copy(offset + 1, length, targets);
    batch.largest_token = std::max({batch.largest_token, in_inputs, in_targets});
    inputs += length;
    targets += length;
  }
  return batch;
}

int64_t TokenReader::copy(int64_t begin, int64_t count, int64_t* out) const {
  if (begin < 0 || begin + count > tokens_) throw std::logic_error("TokenReader: out of range");
  auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                                [](int64_t place, const Piece& p) { return place < p.end; });
  int64_t largest = 0;
  for (; count > 0; ++piece) {
    const int64_t here = std::min(count, piece->end - begin);
    largest = std::max(largest, widen(piece->data + (begin - piece->begin), here, out));
    begin += here;
    count -= here;
    out += here;
  }
  return largest;
}

void TokenReader::expect_sequential() const {
  for (const Piece& piece : pieces_) piece.file.expect_sequential();
}

}  // namespace exprun
