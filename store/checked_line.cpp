#include "store/checked_line.h"

#include "base/hash.h"

namespace exprun {
namespace {

constexpr size_t kHashDigits = 32;

}  // namespace

std::string checked_line(std::string_view json) {
  return hash_hex(json) + ' ' + std::string(json) + '\n';
}

std::optional<std::string_view> json_of_line(std::string_view line) {
  if (line.size() <= kHashDigits || line[kHashDigits] != ' ') return std::nullopt;
  const std::string_view json = line.substr(kHashDigits + 1);
  if (hash_hex(json) != line.substr(0, kHashDigits)) return std::nullopt;
  return json;
}

}  // namespace exprun
