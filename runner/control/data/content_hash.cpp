#include "control/data/content_hash.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/file_error.h"
#include "base/hash.h"
#include "base/unique_fd.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kHashedWhole = uint64_t{256} << 20;
constexpr uint64_t kBlocks = 16;
constexpr uint64_t kBlockBytes = 4096;

uint64_t size_of(const fs::path& file) {
  std::error_code error;
  const uintmax_t size = fs::file_size(file, error);
  if (error) throw file_error("read", file, error.value());
  return size;
}

void hash_block(int fd, uint64_t offset, const fs::path& file, Hasher& hasher) {
  char block[kBlockBytes];
  const ssize_t count = ::pread(fd, block, sizeof block, static_cast<off_t>(offset));
  if (count < 0) throw file_error("read", file);
  hasher.update(block, static_cast<size_t>(count));
}

std::string hash_of_blocks(const fs::path& file, uint64_t size) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw file_error("open", file);
  Hasher hasher;
  const uint64_t last = size > kBlockBytes ? size - kBlockBytes : 0;
  for (uint64_t block = 0; block < kBlocks; ++block)
    hash_block(fd.get(), last * block / (kBlocks - 1), file, hasher);
  return hasher.hex();
}

}  // namespace

std::string content_hash(const std::vector<ContentPart>& parts) {
  uint64_t total = 0;
  for (const ContentPart& part : parts) total += size_of(part.file);
  Hasher hasher;
  for (const ContentPart& part : parts) {
    const uint64_t size = size_of(part.file);
    const bool whole = total <= kHashedWhole;
    hasher.update(part.role + " " + std::to_string(size) + " ");
    hasher.update(whole ? hash_file_hex(part.file) : hash_of_blocks(part.file, size));
  }
  return hasher.hex();
}

}  // namespace exprun
