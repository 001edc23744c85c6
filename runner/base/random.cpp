#include "base/random.h"

namespace exprun {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

uint64_t finalise(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

__extension__ using Wide = unsigned __int128;

}  // namespace

uint64_t random_bits(std::initializer_list<uint64_t> key) {
  uint64_t state = 0;
  for (const uint64_t word : key) state = finalise(state + kGolden + word);
  return state;
}

uint64_t random_word(std::string_view name) {
  uint64_t word = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) word = (word ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return finalise(word);
}

uint64_t random_below(uint64_t bound, std::initializer_list<uint64_t> key) {
  // The high word of a product (Lemire 2019), without the rejection: a value is off by 2^-16 of
  // its probability at most.
  return static_cast<uint64_t>((static_cast<Wide>(random_bits(key)) * bound) >> 64);
}

}  // namespace exprun
