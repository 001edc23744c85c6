// The bytes of each id of a vocabulary, one behind the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

class TokenTable {
 public:
  explicit TokenTable(const std::vector<std::string>& tokens) {
    own_ends_.reserve(tokens.size());
    for (const std::string& token : tokens) {
      own_bytes_.insert(own_bytes_.end(), token.begin(), token.end());
      own_ends_.push_back(own_bytes_.size());
    }
    ends_ = own_ends_;
    bytes_ = {own_bytes_.data(), own_bytes_.size()};
  }
  // Those of another, which outlive this one.
  TokenTable(std::span<const uint64_t> ends, std::string_view bytes) : ends_(ends), bytes_(bytes) {}
  TokenTable(TokenTable&&) = default;

  size_t size() const { return ends_.size(); }
  // Empty for an id without use.
  std::string_view operator[](size_t id) const {
    const uint64_t begin = id > 0 ? ends_[id - 1] : 0;
    return bytes_.substr(begin, ends_[id] - begin);
  }

  std::span<const uint64_t> ends() const { return ends_; }
  std::string_view bytes() const { return bytes_; }

 private:
  std::vector<uint64_t> own_ends_;
  std::vector<char> own_bytes_;
  std::span<const uint64_t> ends_;
  std::string_view bytes_;
};

}  // namespace exprun
