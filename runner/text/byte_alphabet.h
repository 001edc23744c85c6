// The printable characters that stand for bytes in the files of byte-level BPE (GPT-2's
// bytes_to_unicode): 33 to 126, 161 to 172 and 174 to 255 for themselves, the 68 others for 256,
// 257 and so on in order.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace exprun {

// Writes and passes the bytes that a text begins with. Returns where the first character is that
// stands for no byte, such as a space. Bytes are no more than their text: they may go in its place.
size_t decode_alphabet(std::string_view text, char*& bytes);

// The bytes that a token stands for; nothing if a character of it stands for no byte.
std::optional<std::string> bytes_of_alphabet(std::string_view token);

}  // namespace exprun
