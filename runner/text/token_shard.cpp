#include "text/token_shard.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/utf8.h"

namespace exprun {
namespace {

// In blocks that a compiler turns into vectors.
void narrow(std::span<const uint32_t> tokens, char* to) {
  constexpr size_t kBlock = 32;
  uint16_t block[kBlock];
  while (!tokens.empty()) {
    const size_t count = std::min(tokens.size(), kBlock);
    if (count == kBlock)
      for (size_t i = 0; i < kBlock; ++i) block[i] = static_cast<uint16_t>(tokens[i]);
    else
      for (size_t i = 0; i < count; ++i) block[i] = static_cast<uint16_t>(tokens[i]);
    std::memcpy(to, block, count * sizeof *block);
    to += count * sizeof *block;
    tokens = tokens.subspan(count);
  }
}

}  // namespace

void PackedTokens::append(std::span<const uint32_t> tokens) {
  char* const to = room_for(tokens.size());
  if (token_bytes_ == sizeof(uint16_t))
    narrow(tokens, to);
  else if (!tokens.empty())
    std::memcpy(to, tokens.data(), tokens.size_bytes());
  size_ += tokens.size();
}

void PackedTokens::append(TokenSpan tokens) {
  tokens.require_token_bytes(token_bytes_);
  std::copy_n(tokens.bytes, tokens.size_bytes(), room_for(tokens.size));
  size_ += tokens.size;
}

void PackedTokens::clear(int64_t token_bytes) {
  token_bytes_ = static_cast<size_t>(token_bytes);
  size_ = 0;
}

void PackedTokens::drop_first(size_t count) {
  if (count == 0) return;
  const TokenSpan rest = all().without_first(count);
  std::copy_n(rest.bytes, rest.size_bytes(), bytes_.data());
  size_ = rest.size;
}

void PackedTokens::reserve(size_t tokens) {
  bytes_.reserve(tokens * token_bytes_, size_ * token_bytes_);
}

uint32_t PackedTokens::operator[](size_t place) const {
  uint32_t token = 0;  // little-endian, as shards are
  std::memcpy(&token, bytes_.data() + place * token_bytes_, token_bytes_);
  return token;
}

char* PackedTokens::room_for(size_t tokens) {
  if (size_ + tokens > capacity()) reserve(2 * (size_ + tokens));
  return bytes_.data() + size_ * token_bytes_;
}

namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "shards are mapped as they lie");

constexpr int64_t kHeaderBytes = 1024;
constexpr size_t kBufferBytes = size_t{1} << 18;  // stays in a core's cache
constexpr int64_t kWriteAheadBytes = int64_t{2} << 20;
constexpr int64_t kNarrow = sizeof(uint16_t), kWide = sizeof(uint32_t);
constexpr int32_t kBaseModelTrainMagic = 20250211;

struct ShardKind {
  int32_t magic, version;
  int64_t token_bytes;
};
constexpr ShardKind kKinds[] = {
    {kShardMagic, 1, kNarrow}, {kBaseModelTrainMagic, 1, kNarrow}, {kWideShardMagic, 7, kWide}};

using Header = std::array<int32_t, kHeaderBytes / sizeof(int32_t)>;

Error shard_error(const fs::path& file, const std::string& problem) {
  return Error("token shard: '" + file.string() + "' " + problem);
}

const ShardKind* kind_of(int32_t magic) {
  for (const ShardKind& kind : kKinds)
    if (kind.magic == magic) return &kind;
  return nullptr;
}

int64_t size_of(int fd, const fs::path& file) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw file_error("read", file);
  if (S_ISDIR(status.st_mode)) throw file_error("read", file, EISDIR);
  if (!S_ISREG(status.st_mode))
    throw shard_error(file, "is not a regular file (it is a pipe or a device)");
  if (status.st_size == 0) throw shard_error(file, "is empty; download or create it again");
  return status.st_size;
}

struct OpenFile {
  UniqueFd fd;
  int64_t size;
};

OpenFile opened(const fs::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe would wait
  if (!fd) throw file_error("open", file);
  const int64_t size = size_of(fd.get(), file);
  return {std::move(fd), size};
}

// Zeros stand for what a short file lacks.
Header read_header(int fd, const fs::path& file) {
  Header header{};
  if (::pread(fd, header.data(), kHeaderBytes, 0) < 0) throw file_error("read", file);
  return header;
}

// Tokens of 16 bits are no text that is longer than a few words.
bool looks_like_text(int fd, const fs::path& file) {
  constexpr size_t kEnough = 64, kLookedAt = 4096;
  char bytes[kLookedAt];
  const ssize_t count = ::pread(fd, bytes, sizeof bytes, 0);
  if (count < 0) throw file_error("read", file);
  const std::string_view begin(bytes, static_cast<size_t>(count));
  const auto invalid = first_invalid_byte(begin);
  constexpr size_t kTorn = 3;  // of the last character
  const bool is_utf8 = !invalid || (begin.size() == kLookedAt && *invalid + kTorn >= begin.size());
  return begin.size() >= kEnough && is_utf8 && std::none_of(begin.begin(), begin.end(), [](char c) {
           return c >= 0 && c < ' ' && c != '\n' && c != '\r' && c != '\t';
         });
}

void refuse_text(int fd, const fs::path& file) {
  if (looks_like_text(fd, file))
    throw Error("data: '" + file.string() +
                "' is text, not tokens; a recipe reads it with dataset.type = \"text\" and its "
                "path in dataset.path, and `exprun data prepare RECIPE` makes tokens of it");
}

const ShardKind& checked_kind(const Header& header, const fs::path& file) {
  const ShardKind* kind = kind_of(header[0]);
  if (!kind)
    throw shard_error(file, "begins with " + std::to_string(header[0]) +
                                ", not with a shard's magic 20240520, 20250211 or 20240801; if it "
                                "contains only tokens, write format = \"raw_uint16\"");
  if (header[1] != kind->version)
    throw shard_error(file, "has version " + std::to_string(header[1]) + ", but only version " +
                                std::to_string(kind->version) +
                                " of its format is supported; download or create it again");
  return *kind;
}

void check_size(int64_t size, const TokenShard& shard, const fs::path& file) {
  if (shard.tokens < 0)
    throw shard_error(file, "has a damaged header (" + std::to_string(shard.tokens) +
                                " tokens); download or create it again");
  const int64_t expected = shard.file_bytes();
  if (size == expected) return;
  throw shard_error(
      file, std::string(size < expected ? "is truncated" : "is too long") + ": its header says " +
                std::to_string(shard.tokens) + " tokens, which is " + std::to_string(expected) +
                " bytes, but it has " + std::to_string(size) + "; download or create it again");
}

TokenShard inspect_raw(int fd, int64_t size, const fs::path& file) {
  const Header header = read_header(fd, file);
  if (kind_of(header[0]))
    throw shard_error(file, "begins with a shard's header; write format = \"auto\"");
  refuse_text(fd, file);
  if (size % kNarrow != 0)
    throw shard_error(file, "has an odd number of bytes (" + std::to_string(size) +
                                "), so it does not contain only uint16 tokens");
  return {file.string(), size / kNarrow, 0, kNarrow};
}

}  // namespace

bool is_shard_magic(int32_t magic) {
  return kind_of(magic) != nullptr;
}

bool begins_as_shard(const fs::path& file) {
  return is_shard_magic(read_header(opened(file).fd.get(), file)[0]);
}

bool begins_as_text(const fs::path& file) {
  return looks_like_text(opened(file).fd.get(), file);
}

TokenShard inspect_shard(const fs::path& file, ShardFormat format) {
  const auto [fd, size] = opened(file);
  if (format == ShardFormat::raw_uint16) return inspect_raw(fd.get(), size, file);
  const Header header = read_header(fd.get(), file);
  if (!is_shard_magic(header[0])) refuse_text(fd.get(), file);
  if (size < kHeaderBytes)
    throw shard_error(file,
                      "has " + std::to_string(size) +
                          " bytes, fewer than the 1,024 of a shard's header; download or create it "
                          "again" +
                          (is_shard_magic(header[0])
                               ? ""
                               : ", or write format = \"raw_uint16\" if it contains only tokens"));
  const ShardKind& kind = checked_kind(header, file);
  const TokenShard shard{file.string(), header[2], kHeaderBytes, kind.token_bytes};
  check_size(size, shard, file);
  return shard;
}

int64_t token_count(const std::vector<TokenShard>& shards) {
  int64_t tokens = 0;
  for (const TokenShard& shard : shards) tokens += shard.tokens;
  return tokens;
}

ShardWriter::ShardWriter(const fs::path& file, int64_t token_bytes)
    : file_(file),
      fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
      token_bytes_(token_bytes),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {
  if (!fd_) throw file_error("write", file_);
  const Header empty{};
  write_all(fd_.get(), empty.data(), kHeaderBytes, file_);
}

ShardWriter::ShardWriter(const fs::path& file, int64_t token_bytes, int64_t tokens)
    : file_(file),
      fd_(::open(file.c_str(), O_WRONLY | O_CLOEXEC)),
      token_bytes_(token_bytes),
      tokens_(tokens),
      sent_(tokens * token_bytes),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {
  const off_t end = kHeaderBytes + tokens * token_bytes;
  if (fd_ && size_of(fd_.get(), file_) < end)
    throw shard_error(file_, "is shorter than what was made durable of it");
  if (!fd_ || ::ftruncate(fd_.get(), end) != 0 || ::lseek(fd_.get(), end, SEEK_SET) != end)
    throw file_error("continue", file_);
}

void ShardWriter::append(TokenSpan tokens) {
  tokens.require_token_bytes(static_cast<size_t>(token_bytes_));
  tokens_ += static_cast<int64_t>(tokens.size);
  while (tokens.size > 0) {
    const auto part =
        tokens.first(std::min(tokens.size, (kBufferBytes - filled_) / tokens.token_bytes));
    std::memcpy(buffer_.get() + filled_, part.bytes, part.size_bytes());
    filled_ += part.size_bytes();
    tokens = tokens.without_first(part.size);
    if (filled_ == kBufferBytes) flush();
  }
  write_ahead();
}

void ShardWriter::flush() {
  write_all(fd_.get(), buffer_.get(), std::exchange(filled_, 0), file_);
}

// The disk writes while the next tokens are made, so that the sync at the end has little to wait
// for. Only a hint: sync() finds what went wrong.
void ShardWriter::write_ahead() {
  const int64_t written = tokens_ * token_bytes_ - static_cast<int64_t>(filled_);
  const int64_t bytes = written - sent_;
  if (bytes < kWriteAheadBytes) return;
  ::sync_file_range(fd_.get(), kHeaderBytes + sent_, bytes, SYNC_FILE_RANGE_WRITE);
  sent_ = written;
}

void ShardWriter::sync() {
  flush();
  if (::fdatasync(fd_.get()) != 0) throw file_error("write", file_);
}

TokenShard ShardWriter::finish() {
  if (tokens_ > std::numeric_limits<int32_t>::max())
    throw std::logic_error("ShardWriter: more tokens than a header can count");
  flush();
  const bool wide = token_bytes_ == kWide;
  const int32_t header[] = {wide ? kWideShardMagic : kShardMagic, wide ? 7 : 1,
                            static_cast<int32_t>(tokens_)};
  if (::pwrite(fd_.get(), header, sizeof header, 0) != sizeof header)
    throw file_error("write", file_);
  return {file_.string(), tokens_, kHeaderBytes, token_bytes_};
}

}  // namespace exprun
