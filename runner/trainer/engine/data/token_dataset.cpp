#include "engine/data/token_dataset.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "engine/data/prefetcher.h"
#include "engine/model.h"

namespace exprun {
namespace {

MappedFile map_shard(const TokenShard& shard) {
  MappedFile file(shard.path);
  const int64_t expected = shard.file_bytes();
  const auto size = static_cast<int64_t>(file.bytes().size());
  // A page past the end of a mapped file is a SIGBUS: compare before anything is read.
  if (size != expected)
    throw Error("token shard: '" + shard.path + "' has " + std::to_string(size) +
                " bytes, but had " + std::to_string(expected) +
                " when it was prepared; restore it, or start a new run: exprun RECIPE --new");
  return file;
}

// Two plain loops, which a compiler can vectorise; the tokens are in the nearest cache for the
// second.
template <class Token>
int64_t widen(const std::byte* bytes, int64_t begin, int64_t count, int64_t* out) {
  const auto* tokens = reinterpret_cast<const Token*>(bytes) + begin;
  for (int64_t i = 0; i < count; ++i) out[i] = tokens[i];
  Token largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, tokens[i]);
  return largest;
}

}  // namespace

TokenReader::TokenReader(const std::vector<TokenShard>& shards, bool pins_memory, bool opened)
    : pins_memory_(pins_memory), opened_(opened) {
  if (!opened) tokens_ = token_count(shards);
  for (const TokenShard& shard : shards) {
    if (shard.tokens == 0 || !opened) continue;
    MappedFile file = map_shard(shard);
    const std::byte* data = file.bytes().data() + shard.first_byte;
    const auto read = shard.token_bytes == 4 ? widen<uint32_t> : widen<uint16_t>;
    pieces_.push_back({shard.path, std::move(file), data, read, tokens_, tokens_ + shard.tokens});
    tokens_ += shard.tokens;
  }
}

Batch TokenReader::read(std::span<const int64_t> offsets, int64_t length, Blocks blocks) const {
  const int64_t most = blocks == Blocks::separate ? length - 1 : length;
  const auto count = static_cast<int64_t>(offsets.size());
  const auto options = at::TensorOptions().dtype(at::kLong).pinned_memory(pins_memory_);
  Batch batch{at::empty({count, length}, options), at::empty({count, length}, options)};
  auto* inputs = batch.inputs.data_ptr<int64_t>();    // (B, T)
  auto* targets = batch.targets.data_ptr<int64_t>();  // (B, T)
  for (const int64_t offset : offsets) {
    const int64_t given = std::min(length, tokens_ - offset);
    const int64_t predicted = std::min(most, tokens_ - offset - 1);
    const int64_t in_inputs = copy(offset, given, inputs);
    const int64_t in_targets = copy(offset + 1, predicted, targets);
    std::fill(inputs + given, inputs + length, 0);
    std::fill(targets + predicted, targets + length, kIgnoredTarget);
    batch.largest_token = std::max({batch.largest_token, in_inputs, in_targets});
    batch.counted_targets += predicted;
    inputs += length;
    targets += length;
  }
  return batch;
}

int64_t TokenReader::copy(int64_t begin, int64_t count, int64_t* out) const {
  if (!opened_ || begin < 0 || begin + count > tokens_)
    throw std::logic_error("TokenReader: out of range");
  auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                                [](int64_t place, const Piece& p) { return place < p.end; });
  int64_t largest = 0;
  for (; count > 0; ++piece) {
    const int64_t here = std::min(count, piece->end - begin);
    largest = std::max(largest, piece->read(piece->data, begin - piece->begin, here, out));
    begin += here;
    count -= here;
    out += here;
  }
  return largest;
}

std::optional<TokenPlace> TokenReader::find(int64_t begin, int64_t count, int64_t least) const {
  for (const Piece& piece : pieces_)
    for (int64_t at = std::max(begin, piece.begin); at < std::min(begin + count, piece.end); ++at) {
      int64_t token = 0;
      piece.read(piece.data, at - piece.begin, 1, &token);
      if (token >= least) return TokenPlace{piece.path, at - piece.begin, token};
    }
  return std::nullopt;
}

void TokenReader::expect_sequential() const {
  for (const Piece& piece : pieces_) piece.file.expect_sequential();
}

namespace {

class TokenDataset final : public Dataset {
 public:
  TokenDataset(const DatasetContext& context, SampleOrder order, Blocks blocks)
      : train_(context.data.train, !context.device.is_cpu(), context.trains),
        validation_(context.data.validation, !context.device.is_cpu()),
        length_(context.sequence_length),
        seed_(context.seed),
        device_(context.device),
        order_(order),
        blocks_(blocks),
        next_train_(
            [this](int64_t first, int64_t count) { return read(Split::train, first, count); },
            context.stride, context.device) {
    if (order == SampleOrder::sequential) train_.expect_sequential();
    validation_.expect_sequential();
  }

  // Training goes on in even steps, evaluations jump.
  Batch batch(Split split, int64_t first_sample, int64_t count) const override {
    return split == Split::train ? next_train_.take(first_sample, count)
                                 : read(split, first_sample, count).on(device_);
  }

  int64_t samples_per_epoch(Split split) const override {
    return exprun::samples_per_epoch(order(split), space(split));
  }

  int64_t targets_per_sample() const override { return space(Split::train).sample_tokens() - 1; }

  std::optional<TokenPlace> find_token(Split split, int64_t first_sample, int64_t count,
                                       int64_t least) const override {
    for (const int64_t offset : offsets(split, first_sample, count))
      if (const auto place = reader(split).find(offset, length_ + 1, least)) return place;
    return std::nullopt;
  }

 private:
  std::vector<int64_t> offsets(Split split, int64_t first_sample, int64_t count) const {
    std::vector<int64_t> offsets;
    for (int64_t sample = first_sample; sample < first_sample + count; ++sample)
      offsets.push_back(sample_offset(order(split), space(split), seed_, sample));
    return offsets;
  }
  // On the CPU.
  Batch read(Split split, int64_t first_sample, int64_t count) const {
    return reader(split).read(offsets(split, first_sample, count), length_, blocks_);
  }
  const TokenReader& reader(Split split) const {
    return split == Split::train ? train_ : validation_;
  }
  SampleOrder order(Split split) const {
    return split == Split::train ? order_ : SampleOrder::sequential;
  }
  SampleSpace space(Split split) const {
    return {reader(split).tokens(), length_, blocks_ == Blocks::separate,
            split == Split::validation};
  }

  TokenReader train_;
  TokenReader validation_;
  int64_t length_;
  int64_t seed_;
  at::Device device_;
  SampleOrder order_;
  Blocks blocks_;
  mutable Prefetcher next_train_;
};

}  // namespace

std::unique_ptr<Dataset> make_token_dataset(const DatasetContext& context, SampleOrder order,
                                            Blocks blocks) {
  return std::make_unique<TokenDataset>(context, order, blocks);
}

std::unique_ptr<Dataset> make_token_dataset(const Section& section, const DatasetContext& context) {
  const bool separate = section.get<std::string>("blocks") == "separate";
  return make_token_dataset(context, sample_order(section.get<std::string>("order")),
                            separate ? Blocks::separate : Blocks::overlapping);
}

}  // namespace exprun
