#include "text/shard_sample.h"

#include <span>

#include "base/hash.h"
#include "base/mapped_file.h"

namespace exprun {
namespace {

constexpr size_t kSamples = 64;
constexpr size_t kSampleBytes = 4096;

}  // namespace

std::string sampled_hash(const TokenShard& shard) {
  const MappedFile file(shard.path);
  const std::span<const std::byte> bytes = file.bytes();
  Hasher hasher;
  hasher.update(std::to_string(bytes.size()));
  if (bytes.size() <= kSamples * kSampleBytes) {
    hasher.update(bytes.data(), bytes.size());
    return hasher.hex();
  }
  const size_t last = bytes.size() - kSampleBytes;
  for (size_t i = 0; i < kSamples; ++i) {
    const size_t begin = last / (kSamples - 1) * i;
    hasher.update(bytes.data() + (i + 1 == kSamples ? last : begin), kSampleBytes);
  }
  return hasher.hex();
}

}  // namespace exprun
