// Tokens as they lie in a shard: two bytes each, or four. Encoders fill it, so that no thread
// handles more bytes than are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/byte_room.h"
#include "text/tokenizer.h"

namespace exprun {

// A part of them; what holds them lives on.
struct TokenSpan {
  const char* bytes = nullptr;
  size_t size = 0;  // tokens
  size_t token_bytes = 2;

  size_t size_bytes() const { return size * token_bytes; }
  void require_token_bytes(size_t expected) const {
    if (token_bytes != expected) throw std::logic_error("TokenSpan: tokens of another size");
  }
  TokenSpan first(size_t count) const { return {bytes, count, token_bytes}; }
  TokenSpan without_first(size_t count) const {
    return {bytes + count * token_bytes, size - count, token_bytes};
  }
};

class PackedTokens final : public TokenSink {
 public:
  PackedTokens() = default;  // of two bytes
  PackedTokens(PackedTokens&& other) noexcept { *this = std::move(other); }
  PackedTokens& operator=(PackedTokens&& other) noexcept {
    token_bytes_ = other.token_bytes_;
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  explicit PackedTokens(int64_t token_bytes) : token_bytes_(static_cast<size_t>(token_bytes)) {}
  PackedTokens(int64_t token_bytes, std::span<const uint32_t> tokens) : PackedTokens(token_bytes) {
    append(tokens);
  }

  // Of two bytes the lower ones of each are kept.
  void append(std::span<const uint32_t> tokens) override;
  void append(TokenSpan tokens);  // throws std::logic_error unless of as many bytes each

  // Its memory is used again.
  void clear(int64_t token_bytes);
  void drop_first(size_t count);
  void reserve(size_t tokens);

  TokenSpan all() const { return {bytes_.data(), size_, token_bytes_}; }
  uint32_t operator[](size_t place) const;
  size_t size() const { return size_; }
  size_t capacity() const { return bytes_.capacity() / token_bytes_; }

 private:
  char* room_for(size_t tokens);  // behind the last

  size_t token_bytes_ = 2;
  ByteRoom bytes_;
  size_t size_ = 0;
};

}  // namespace exprun
