#include "text/token_shard.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <bit>
#include <cerrno>
#include <limits>

#include "base/file_error.h"
#include "base/write_all.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "shards are mapped as they lie");

constexpr int64_t kHeaderBytes = 1024;
constexpr int64_t kTokenBytes = sizeof(uint16_t);
constexpr int32_t kVersion = 1;
constexpr int32_t kBaseModelTrainMagic = 20250211;
constexpr int32_t kLlama3Magic = 20240801;  // llm.c's, with uint32 tokens

using Header = std::array<int32_t, kHeaderBytes / sizeof(int32_t)>;

Error shard_error(const fs::path& file, const std::string& problem) {
  return Error("token shard: '" + file.string() + "' " + problem);
}

bool is_magic(int32_t word) {
  return word == kShardMagic || word == kBaseModelTrainMagic;
}

int64_t size_of(int fd, const fs::path& file) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw file_error("read", file);
  if (S_ISDIR(status.st_mode)) throw file_error("read", file, EISDIR);
  return status.st_size;
}

// Zeros stand for what a short file lacks.
Header read_header(int fd, const fs::path& file) {
  Header header{};
  if (::pread(fd, header.data(), kHeaderBytes, 0) < 0) throw file_error("read", file);
  return header;
}

void check_magic(const Header& header, const fs::path& file) {
  if (header[0] == kLlama3Magic)
    throw shard_error(file, "holds uint32 tokens (magic 20240801); shards of uint16 can be read");
  if (!is_magic(header[0]))
    throw shard_error(file, "begins with " + std::to_string(header[0]) +
                                ", not with a shard's magic 20240520 or 20250211; if it holds "
                                "tokens only, write format = \"raw_uint16\"");
  if (header[1] != kVersion)
    throw shard_error(file, "has version " + std::to_string(header[1]) + ", version 1 can be read");
}

void check_size(int64_t size, int64_t tokens, const fs::path& file) {
  const int64_t expected = kHeaderBytes + tokens * kTokenBytes;
  if (tokens < 0)
    throw shard_error(file, "has a damaged header (" + std::to_string(tokens) +
                                " tokens); fetch or make it again");
  if (size == expected) return;
  throw shard_error(file, std::string(size < expected ? "is truncated" : "is too long") +
                              ": its header says " + std::to_string(tokens) + " tokens, which is " +
                              std::to_string(expected) + " bytes, but it has " +
                              std::to_string(size) + "; fetch or make it again");
}

TokenShard inspect_raw(int fd, int64_t size, const fs::path& file) {
  const Header header = read_header(fd, file);
  if (is_magic(header[0]) && header[1] == kVersion)
    throw shard_error(file, "begins with a shard's header; write format = \"auto\"");
  if (size % kTokenBytes != 0)
    throw shard_error(file, "has an odd number of bytes (" + std::to_string(size) +
                                "), so it does not hold uint16 tokens only");
  return {file.string(), size / kTokenBytes, 0};
}

}  // namespace

TokenShard inspect_shard(const fs::path& file, ShardFormat format) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw file_error("open", file);
  const int64_t size = size_of(fd.get(), file);
  if (size == 0) throw shard_error(file, "is empty; fetch or make it again");
  if (format == ShardFormat::raw_uint16) return inspect_raw(fd.get(), size, file);
  if (size < kHeaderBytes)
    throw shard_error(file, "has " + std::to_string(size) +
                                " bytes, fewer than a shard's header of 1,024; fetch or make it "
                                "again, or write format = \"raw_uint16\" if it holds tokens only");
  const Header header = read_header(fd.get(), file);
  check_magic(header, file);
  check_size(size, header[2], file);
  return {file.string(), header[2], kHeaderBytes};
}

ShardWriter::ShardWriter(const fs::path& file)
    : file_(file), fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (!fd_) throw file_error("write", file_);
  const Header empty{};
  write_all(fd_.get(), empty.data(), kHeaderBytes, file_);
}

void ShardWriter::append(std::span<const uint16_t> tokens) {
  write_all(fd_.get(), tokens.data(), tokens.size_bytes(), file_);
  tokens_ += static_cast<int64_t>(tokens.size());
}

TokenShard ShardWriter::finish() {
  if (tokens_ > std::numeric_limits<int32_t>::max())
    throw std::logic_error("ShardWriter: more tokens than a header can count");
  const int32_t header[] = {kShardMagic, kVersion, static_cast<int32_t>(tokens_)};
  if (::pwrite(fd_.get(), header, sizeof header, 0) != sizeof header)
    throw file_error("write", file_);
  return {file_.string(), tokens_, kHeaderBytes};
}

}  // namespace exprun
