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

// Passes it. All of the alphabet have one byte or two in UTF-8; for others stands kCharacters.
size_t character_at(std::string_view text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  if (first < 0xc2 || at == text.size()) return kCharacters;
  const auto second = static_cast<unsigned char>(text[at++]);
  const size_t value = size_t{first & 0x1fu} << 6 | (second & 0x3fu);
  const bool of_two = first < 0xe0 && (second & 0xc0) == 0x80;
  return of_two && value < kCharacters ? value : kCharacters;
}

}  // namespace

std::optional<std::string> bytes_of_alphabet(std::string_view token) {
  std::string bytes(token.size(), '\0');
  size_t count = 0;
  for (size_t at = 0; at < token.size();) {
    const int byte = kByteOf[character_at(token, at)];
    if (byte == kNoByte) return std::nullopt;
    bytes[count++] = static_cast<char>(byte);
  }
  bytes.resize(count);
  return bytes;
}

}  // namespace exprun
