// XXH3-128: identities of recipes, data and files. Not for security.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace exprun {

// Feeds bytes piece by piece.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void update(const void* bytes, size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  std::string hex() const;  // 32 lower-case digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hash_hex(std::string_view bytes);

// Of a whole file. Throws Error that names it.
std::string hash_file_hex(const std::filesystem::path& file);

}  // namespace exprun
