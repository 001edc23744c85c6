#include "text/packed_tokens.h"

#include <algorithm>
#include <cstring>

namespace exprun {
namespace {

// In blocks that a compiler turns into vectors.
void narrow(std::span<const uint32_t> tokens, char* to) {
  constexpr size_t kBlock = 32;
  uint16_t block[kBlock];
  while (!tokens.empty()) {
    const size_t count = std::min(tokens.size(), kBlock);
    if (count == kBlock)
      for (size_t i = 0; i < kBlock; ++i) block[i] = static_cast<uint16_t>(tokens[i]);
    else
      for (size_t i = 0; i < count; ++i) block[i] = static_cast<uint16_t>(tokens[i]);
    std::memcpy(to, block, count * sizeof *block);
    to += count * sizeof *block;
    tokens = tokens.subspan(count);
  }
}

}  // namespace

void PackedTokens::append(std::span<const uint32_t> tokens) {
  char* const to = room_for(tokens.size());
  if (token_bytes_ == sizeof(uint16_t))
    narrow(tokens, to);
  else if (!tokens.empty())
    std::memcpy(to, tokens.data(), tokens.size_bytes());
  size_ += tokens.size();
}

void PackedTokens::append(TokenSpan tokens) {
  tokens.require_token_bytes(token_bytes_);
  std::copy_n(tokens.bytes, tokens.size_bytes(), room_for(tokens.size));
  size_ += tokens.size;
}

void PackedTokens::clear(int64_t token_bytes) {
  token_bytes_ = static_cast<size_t>(token_bytes);
  size_ = 0;
}

void PackedTokens::drop_first(size_t count) {
  if (count == 0) return;
  const TokenSpan rest = all().without_first(count);
  std::copy_n(rest.bytes, rest.size_bytes(), bytes_.data());
  size_ = rest.size;
}

void PackedTokens::reserve(size_t tokens) {
  bytes_.reserve(tokens * token_bytes_, size_ * token_bytes_);
}

uint32_t PackedTokens::operator[](size_t place) const {
  uint32_t token = 0;  // little-endian, as shards are
  std::memcpy(&token, bytes_.data() + place * token_bytes_, token_bytes_);
  return token;
}

char* PackedTokens::room_for(size_t tokens) {
  if (size_ + tokens > capacity()) reserve(2 * (size_ + tokens));
  return bytes_.data() + size_ * token_bytes_;
}

}  // namespace exprun
