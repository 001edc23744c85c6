// Tokens of two bytes and of four, as they lie in a shard.
#include <doctest/doctest.h>

#include <string>

#include "text/token_shard.h"

using namespace exprun;

namespace {

std::string bytes_of(TokenSpan tokens) {
  return {tokens.bytes, tokens.size_bytes()};
}

Tokens unpacked(const PackedTokens& packed) {
  Tokens tokens;
  for (size_t i = 0; i < packed.size(); ++i) tokens.push_back(packed[i]);
  return tokens;
}

}  // namespace

TEST_CASE("packed tokens: each takes two bytes or four, the lowest first") {
  CHECK(bytes_of(PackedTokens(2, Tokens{1, 0xfffe}).all()) == std::string("\1\0\xfe\xff", 4));
  CHECK(bytes_of(PackedTokens(4, Tokens{1, 0x10fffe}).all()) ==
        std::string("\1\0\0\0\xfe\xff\x10\0", 8));
  CHECK(bytes_of(PackedTokens().all()).empty());
}

TEST_CASE("packed tokens: however many are appended at a time, all are there in order") {
  for (const int64_t token_bytes : {2, 4}) {
    PackedTokens packed(token_bytes);
    Tokens expected;
    for (uint32_t size = 0; size < 200; ++size) {
      Tokens some;
      for (uint32_t i = 0; i < size; ++i) some.push_back(size * 256 + i);
      packed.append(some);
      packed.append(PackedTokens(token_bytes, some).all());
      for (int twice = 0; twice < 2; ++twice)
        expected.insert(expected.end(), some.begin(), some.end());
    }
    CHECK(unpacked(packed) == expected);
    packed.drop_first(0);
    packed.drop_first(150);
    CHECK(unpacked(packed) == Tokens(expected.begin() + 150, expected.end()));
    packed.drop_first(packed.size());
    CHECK(packed.size() == 0);
  }
}

TEST_CASE("packed tokens: cleared, they may be of another size") {
  PackedTokens packed(2, Tokens{1, 2, 3});
  packed.clear(4);
  packed.append(Tokens{70'000});
  CHECK(unpacked(packed) == Tokens{70'000});
}

TEST_CASE("packed tokens: what they were moved from can be filled again") {
  PackedTokens packed(2, Tokens{1, 2, 3});
  const PackedTokens moved = std::move(packed);
  packed.append(Tokens{4});
  CHECK(unpacked(packed) == Tokens{4});
  CHECK(unpacked(moved) == Tokens{1, 2, 3});
}

TEST_CASE("packed tokens: those of another size are refused") {
  PackedTokens packed(4);
  CHECK_THROWS_AS(packed.append(PackedTokens(2, Tokens{1}).all()), std::logic_error);
}

TEST_CASE("packed tokens: parts of a span") {
  const PackedTokens packed(2, Tokens{1, 2, 3});
  CHECK(bytes_of(packed.all().first(2)) == std::string("\1\0\2\0", 4));
  CHECK(bytes_of(packed.all().without_first(2)) == std::string("\3\0", 2));
  CHECK(packed.all().without_first(3).size == 0);
}
