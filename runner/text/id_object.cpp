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

// RFC 8259, of what is allowed here.
class IdObject {
 public:
  explicit IdObject(std::string_view json) : at_(json.data()), end_(json.data() + json.size()) {
    if (json.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
  }

  bool read(const std::function<void(const std::string&, uint64_t)>& use) {
    if (!take('{')) return false;
    if (!take('}')) {
      do {
        if (!take('"') || !read_string() || !take(':') || !read_number()) return false;
        use(name_, id_);
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
    name_.clear();
    bool ascii = true;
    for (;;) {
      const char* const begin = at_;
      while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= ' ')
        ascii &= static_cast<unsigned char>(*at_++) < 0x80;
      name_.append(begin, at_);
      if (at_ == end_) return false;
      const char behind = *at_++;
      if (behind == '"') return ascii || !first_invalid_byte(name_);
      if (behind != '\\' || !read_escape()) return false;
    }
  }

  // Behind its backslash.
  bool read_escape() {
    if (at_ == end_) return false;
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const char name = *at_++;
    if (name == 'u') return read_code_point();
    const size_t known = kNames.find(name);
    if (known == std::string_view::npos) return false;
    name_ += kMeant[known];
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
    append_code_point(name_, *value);
    return true;
  }

  std::optional<uint32_t> read_hex() {
    uint32_t value = 0;
    if (end_ - at_ < 4 || std::from_chars(at_, at_ + 4, value, 16).ptr != at_ + 4)
      return std::nullopt;
    at_ += 4;
    return value;
  }

  bool read_number() {
    skip_space();
    if (end_ - at_ > 1 && at_[0] == '0' && is_digit(at_[1])) return false;
    const auto [behind, error] = std::from_chars(at_, end_, id_);
    at_ = behind;
    return error == std::errc();
  }

  const char* at_;
  const char* const end_;
  std::string name_;
  uint64_t id_ = 0;
};

}  // namespace

bool read_id_object(std::string_view json,
                    const std::function<void(const std::string&, uint64_t)>& use) {
  return IdObject(json).read(use);
}

}  // namespace exprun
