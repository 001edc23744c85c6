#include "text/id_object.h"

#include <charconv>
#include <optional>

#include "base/utf8.h"

namespace exprun {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<uint32_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<uint32_t>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<uint32_t>(lower - 'a' + 10);
  return std::nullopt;
}

// RFC 8259, of what is allowed here. Names are decoded where they lie: none becomes longer.
class IdObject {
 public:
  explicit IdObject(std::string& json) : at_(json.data()), end_(json.data() + json.size()) {
    if (json.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
  }

  bool read(const std::function<void(std::string_view, uint64_t)>& use) {
    if (!take('{')) return false;
    if (!take('}')) {
      do {
        if (!take('"')) return false;
        const char* const name = at_;
        if (!read_string() || !take(':') || !read_number()) return false;
        use({name, name_end_}, id_);
      } while (take(','));
      if (!take('}')) return false;
    }
    skip_space();
    return at_ == end_;
  }

 private:
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool take(char wanted) {
    skip_space();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  // Behind its first quote.
  bool read_string() {
    const char* const begin = name_end_ = at_;
    unsigned char bits = 0;
    for (;;) {
      // The end is the zero behind a std::string, which is no character of a name either.
      for (; !ends_run(*at_); ++at_) bits |= static_cast<unsigned char>(*name_end_++ = *at_);
      if (at_ == end_) return false;
      const char behind = *at_++;
      if (behind == '"') return bits < 0x80 || !first_invalid_byte({begin, name_end_});
      if (behind != '\\' || !read_escape()) return false;
    }
  }

  static bool ends_run(char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ';
  }

  // Behind its backslash.
  bool read_escape() {
    if (at_ == end_) return false;
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const char name = *at_++;
    if (name == 'u') return read_code_point();
    const size_t known = kNames.find(name);
    if (known == std::string_view::npos) return false;
    *name_end_++ = kMeant[known];
    return true;
  }

  // Above U+FFFF a pair of surrogates.
  bool read_code_point() {
    auto value = read_hex();
    if (!value || (*value >= 0xdc00 && *value < 0xe000)) return false;
    if (*value >= 0xd800 && *value < 0xdc00) {
      if (end_ - at_ < 2 || *at_++ != '\\' || *at_++ != 'u') return false;
      const auto low = read_hex();
      if (!low || *low < 0xdc00 || *low >= 0xe000) return false;
      value = 0x10000 + ((*value - 0xd800) << 10) + (*low - 0xdc00);
    }
    name_end_ = write_code_point(name_end_, *value);
    return true;
  }

  std::optional<uint32_t> read_hex() {
    if (end_ - at_ < 4) return std::nullopt;
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const auto digit = hex_digit(*at_++);
      if (!digit) return std::nullopt;
      value = value << 4 | *digit;
    }
    return value;
  }

  bool read_number() {
    skip_space();
    if (end_ - at_ > 1 && at_[0] == '0' && is_digit(at_[1])) return false;
    const auto [behind, error] = std::from_chars(at_, end_, id_);
    at_ += behind - at_;
    return error == std::errc();
  }

  char* at_;
  char* const end_;
  char* name_end_ = nullptr;
  uint64_t id_ = 0;
};

}  // namespace

bool read_id_object(std::string json, const std::function<void(std::string_view, uint64_t)>& use) {
  return IdObject(json).read(use);
}

}  // namespace exprun
