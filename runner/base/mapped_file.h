// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace exprun {

class MappedFile {
 public:
  // Throws Error that names the file and the reason. An empty file maps to an empty span.
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Read-ahead as far as the kernel likes; a hint.
  void expect_sequential() const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace exprun
