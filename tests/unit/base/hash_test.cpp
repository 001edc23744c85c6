#include "base/hash.h"

#include <doctest/doctest.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <cstdio>

#include "base/diagnostic.h"
#include "support/temporary_folder.h"

using namespace exprun;

#ifdef __x86_64__
namespace {

// Which states of registers hold something: XINUSE of the processor, where it tells.
__attribute__((target("avx,xsave"))) bool upper_halves_are_in_use() {
  constexpr unsigned kAvxState = 1u << 2;
  return (_xgetbv(1) & kAvxState) != 0;
}

// Built for any processor: in code for AVX the compiler itself would leave them.
void use_upper_halves() {
  asm volatile(
      "vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\t"
      "vinsertf128 $1, %%xmm0, %%ymm0, %%ymm0" ::
          : "xmm0");
}

__attribute__((target("avx"))) void leave_upper_halves() {
  _mm256_zeroupper();
}

bool processor_tells() {
  constexpr unsigned kExtendedState = 0xd, kTellsUse = 1u << 2;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__builtin_cpu_supports("avx") || !__get_cpuid_count(kExtendedState, 1, &a, &b, &c, &d) ||
      !(a & kTellsUse))
    return false;
  use_upper_halves();
  const bool in_use = upper_halves_are_in_use();
  leave_upper_halves();
  return in_use && !upper_halves_are_in_use();
}

}  // namespace

TEST_CASE("hash: the wide registers are left as they were found, for code that follows") {
  if (!processor_tells()) {
    std::puts("SKIPPED: this processor does not tell which registers are in use");
    return;
  }
  const std::string text(1 << 20, 'a');
  CHECK(hash_hex(text) != "");
  CHECK_FALSE(upper_halves_are_in_use());
  Hasher hasher;
  hasher.update(text);
  CHECK_FALSE(upper_halves_are_in_use());
  CHECK(hasher.hex() == hash_hex(text));
  CHECK_FALSE(upper_halves_are_in_use());
}
#endif

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
