#include "text/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace exprun {
namespace {

constexpr int kCharacters = 256 + 68;
constexpr int kNoByte = -1;

constexpr bool stands_for_itself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

constexpr std::array<int, kCharacters> byte_of_characters() {
  std::array<int, kCharacters> bytes{};
  for (int& byte : bytes) byte = kNoByte;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte)
    bytes[static_cast<size_t>(stands_for_itself(byte) ? byte : next++)] = byte;
  return bytes;
}

constexpr std::array<int, kCharacters> kByteOf = byte_of_characters();

}  // namespace

std::optional<std::string> bytes_of_alphabet(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    const CodePoint point = first_code_point(token);
    if (!point.valid || point.value >= kCharacters || kByteOf[point.value] == kNoByte)
      return std::nullopt;
    bytes += static_cast<char>(kByteOf[point.value]);
    token.remove_prefix(point.bytes.size());
  }
  return bytes;
}

}  // namespace exprun
