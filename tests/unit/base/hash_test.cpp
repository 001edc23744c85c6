#include "base/hash.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "support/temporary_folder.h"

using namespace exprun;

TEST_CASE("hash: XXH3-128 as published, big endian") {
  // `xxhsum -H2` of an empty file, of "a", and of bytes enough for every kind of vectors.
  CHECK(hash_hex("") == "99aa06d3014798d86001c324468d497f");
  CHECK(hash_hex("a") == "a96faf705af16834e6c632b61e964e1f");
  std::string text;
  for (int64_t i = 0; i < 1000000; ++i) text += static_cast<char>((i * i + 7 * i) % 251);
  CHECK(hash_hex(text) == "aae3b37d4f582783f43ca5213fb7f8e7");
}

TEST_CASE("hash: pieces, a whole and a file agree") {
  std::string text;
  for (int i = 0; i < 500000; ++i) text += std::to_string(i);
  Hasher hasher;
  for (size_t at = 0; at < text.size(); at += 997) hasher.update(text.substr(at, 997));
  CHECK(hasher.hex() == hash_hex(text));
  const TemporaryFolder folder;
  CHECK(hash_file_hex(folder.write("a", text)) == hash_hex(text));
  CHECK_THROWS_AS(hash_file_hex(folder.path() / "none"), Error);
}
