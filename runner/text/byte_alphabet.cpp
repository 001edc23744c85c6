#include "text/byte_alphabet.h"

#include <array>

namespace exprun {
namespace {

constexpr size_t kCharacters = 256 + 68;
constexpr int kNoByte = -1;

constexpr bool stands_for_itself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

// One more, which is no character of the alphabet.
constexpr std::array<int, kCharacters + 1> byte_of_characters() {
  std::array<int, kCharacters + 1> bytes{};
  for (int& byte : bytes) byte = kNoByte;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte)
    bytes[static_cast<size_t>(stands_for_itself(byte) ? byte : next++)] = byte;
  return bytes;
}

constexpr std::array<int, kCharacters + 1> kByteOf = byte_of_characters();

// All of the alphabet have one byte or two in UTF-8; for others stands kCharacters.
size_t character_of(unsigned char first, unsigned char second) {
  const size_t value = size_t{first & 0x1fu} << 6 | (second & 0x3fu);
  const bool of_two = first >= 0xc2 && first < 0xe0 && (second & 0xc0) == 0x80;
  return of_two && value < kCharacters ? value : kCharacters;
}

}  // namespace

size_t decode_alphabet(std::string_view text, char*& bytes) {
  const char *at = text.data(), *const end = at + text.size();
  char* out = bytes;
  for (; at != end; ++at) {
    const auto first = static_cast<unsigned char>(*at);
    if (first > ' ' && first < 0x7f) {
      *out++ = *at;
      continue;
    }
    if (end - at < 2) break;
    const int byte = kByteOf[character_of(first, static_cast<unsigned char>(at[1]))];
    if (byte == kNoByte) break;
    *out++ = static_cast<char>(byte);
    ++at;
  }
  bytes = out;
  return static_cast<size_t>(at - text.data());
}

std::optional<std::string> bytes_of_alphabet(std::string_view token) {
  std::string bytes(token.size(), '\0');
  char* end = bytes.data();
  if (decode_alphabet(token, end) < token.size()) return std::nullopt;
  bytes.resize(static_cast<size_t>(end - bytes.data()));
  return bytes;
}

}  // namespace exprun
