// Unicode's normalization form C (UAX #15), into which some tokenizers bring a text first: a letter
// and its marks become one character where there is one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace exprun {

// In NFC; a byte that is no UTF-8 stays, and nothing composes across it. `buffer` holds the result
// where the text is not in NFC already.
std::string_view to_nfc(std::string_view text, std::string& buffer);

// Whether NFC of the text is that of its first `place` bytes and then that of the rest, whatever
// follows, and the characters beside the place stay what they are but for marks that follow.
bool is_apart_in_nfc(std::string_view text, size_t place);

}  // namespace exprun
