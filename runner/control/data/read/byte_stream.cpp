#include "control/data/read/byte_stream.h"

#include <fcntl.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "control/data/read/format_sniffing.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

struct UnreadPacking {
  std::string_view first;
  const char* name;
};

// bzip2: any digit for the size of its blocks stands before the first block's or the end's mark.
constexpr UnreadPacking kUnread[] = {
    {{"\xfd\x37zXZ\0", 6}, "xz"}, {"\x04\x22\x4d\x18", "lz4"},     {"PK\x03\x04", "zip"},
    {"PK\x05\x06", "zip"},        {"7z\xbc\xaf\x27\x1c", "7-Zip"}, {"\x1f\x9d", "compress"},
};

bool is_bzip2(std::string_view first) {
  if (!first.starts_with("BZh") || first.size() < kPackingBytes) return false;
  const std::string_view mark = first.substr(4, 6);
  return mark == "\x31\x41\x59\x26\x53\x59" || mark == "\x17\x72\x45\x38\x50\x90";
}

const char* unread_packing(std::string_view first) {
  for (const UnreadPacking& packing : kUnread)
    if (first.starts_with(packing.first)) return packing.name;
  return is_bzip2(first) ? "bzip2" : nullptr;
}

// A skippable frame (RFC 8878, 3.1.2) is what parallel packers begin with.
bool is_zstd(std::string_view first) {
  const bool skippable = first.size() >= 4 && (first[0] & 0xf0) == 0x50;
  return first.starts_with("\x28\xb5\x2f\xfd") ||
         (skippable && first.substr(1).starts_with("\x2a\x4d\x18"));
}

constexpr size_t kBlock = size_t{1} << 18;

// The file as it is. Its first bytes can be looked at before they are read.
class PlainBytes final : public ByteStream {
 public:
  PlainBytes(fs::path file, UniqueFd fd) : file_(std::move(file)), fd_(std::move(fd)) {}

  std::string_view peek(size_t size) {
    std::string bytes(size, '\0');
    size_t filled = 0;
    for (size_t count; filled < size && (count = read_file(bytes.data() + filled, size - filled));)
      filled += count;
    bytes.resize(filled);
    peeked_ = bytes;
    return peeked_;
  }

  size_t read(char* bytes, size_t size) override {
    const size_t early = std::min(size, peeked_.size());
    if (early == 0) return read_file(bytes, size);
    std::memcpy(bytes, peeked_.data(), early);
    peeked_.erase(0, early);
    return early;
  }
  int64_t position() const override { return position_; }
  std::string hash() const override { return hasher_.hex(); }
  const fs::path& file() const { return file_; }

 private:
  size_t read_file(char* bytes, size_t size) {
    for (;;) {
      const ssize_t count = ::read(fd_.get(), bytes, size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw file_error("read", file_);
      position_ += count;
      hasher_.update(bytes, static_cast<size_t>(count));
      return static_cast<size_t>(count);
    }
  }

  fs::path file_;
  UniqueFd fd_;
  std::string peeked_;
  int64_t position_ = 0;
  Hasher hasher_;
};

Error damaged(const fs::path& file, const std::string& kind, const std::string& why) {
  return Error("data: '" + file.string() + "' is a damaged " + kind + " file (" + why +
               "); download or create it again");
}

// A window of packed bytes, refilled when it is used up.
class Packed {
 public:
  explicit Packed(std::unique_ptr<PlainBytes> plain) : plain_(std::move(plain)), bytes_(kBlock) {}

  // False at the end.
  bool refill() {
    if (begin_ < end_) return true;
    begin_ = 0;
    end_ = plain_->read(bytes_.data(), bytes_.size());
    return end_ > 0;
  }
  char* data() { return bytes_.data() + begin_; }
  size_t size() const { return end_ - begin_; }
  void take(size_t count) { begin_ += count; }
  const PlainBytes& plain() const { return *plain_; }

 private:
  std::unique_ptr<PlainBytes> plain_;
  std::vector<char> bytes_;
  size_t begin_ = 0, end_ = 0;
};

class GzipBytes final : public ByteStream {
 public:
  explicit GzipBytes(std::unique_ptr<PlainBytes> plain) : packed_(std::move(plain)) {
    constexpr int kGzip = 16 + MAX_WBITS;
    if (inflateInit2(&state_, kGzip) != Z_OK) throw std::bad_alloc();
  }
  ~GzipBytes() override { inflateEnd(&state_); }

  size_t read(char* bytes, size_t size) override {
    state_.next_out = reinterpret_cast<Bytef*>(bytes);
    state_.avail_out = static_cast<uInt>(size);
    while (state_.avail_out == size) {
      if (whole_) skip_padding();
      if (!packed_.refill()) {
        if (!whole_) throw damaged(packed_.plain().file(), "gzip", "it ends early");
        return 0;
      }
      if (whole_) inflateReset(&state_);  // members may follow each other
      step();
    }
    return size - state_.avail_out;
  }
  int64_t position() const override { return packed_.plain().position(); }
  std::string hash() const override { return packed_.plain().hash(); }

 private:
  // Zeros after a member fill a tape's or a device's last block.
  void skip_padding() {
    while (packed_.refill() && *packed_.data() == '\0') packed_.take(1);
  }

  void step() {
    state_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    state_.avail_in = static_cast<uInt>(packed_.size());
    const int result = inflate(&state_, Z_NO_FLUSH);
    packed_.take(packed_.size() - state_.avail_in);
    whole_ = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      throw damaged(packed_.plain().file(), "gzip", state_.msg ? state_.msg : "no such data");
  }

  Packed packed_;
  z_stream state_{};
  bool whole_ = false;
};

// How much memory the frame that begins so takes: the window that its header names, or else its
// whole content.
uint64_t window_of_zstd(std::string_view header) {
  constexpr size_t kDescriptor = 4, kWindow = 5;  // after the magic number
  constexpr unsigned kSingleSegment = 1u << 5;
  if (header.size() <= kWindow) return 0;
  if (static_cast<unsigned char>(header[kDescriptor]) & kSingleSegment)
    return ZSTD_getFrameContentSize(header.data(), header.size());
  const auto window = static_cast<unsigned char>(header[kWindow]);
  const uint64_t base = uint64_t{1} << (10 + (window >> 3));
  return base + base / 8 * (window & 7);
}

// No mistake in the file: a machine with more memory unpacks it.
FileError no_memory_for_zstd(const fs::path& file, std::string_view header) {
  return FileError(
      "data: there is not enough memory to decompress '" + file.string() + "': its window takes " +
      std::to_string(window_of_zstd(header)) +
      " bytes; compress it with a smaller window, or decompress it on another machine");
}

class ZstdBytes final : public ByteStream {
 public:
  explicit ZstdBytes(std::unique_ptr<PlainBytes> plain)
      : packed_(std::move(plain)), state_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (!state_) throw std::bad_alloc();
    // By itself it refuses what `zstd --long=28` and above has packed.
    const int widest = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
    ZSTD_DCtx_setParameter(state_.get(), ZSTD_d_windowLogMax, widest);
  }

  size_t read(char* bytes, size_t size) override {
    ZSTD_outBuffer out{bytes, size, 0};
    while (out.pos == 0) {
      if (!packed_.refill()) {
        if (left_ != 0) throw damaged(packed_.plain().file(), "zstd", "it ends early");
        return 0;
      }
      ZSTD_inBuffer in{packed_.data(), packed_.size(), 0};
      if (left_ == 0) header_.clear();
      header_.append(packed_.data(), std::min(packed_.size(), kHeader - header_.size()));
      left_ = ZSTD_decompressStream(state_.get(), &out, &in);
      packed_.take(in.pos);
      if (ZSTD_getErrorCode(left_) == ZSTD_error_memory_allocation)
        throw no_memory_for_zstd(packed_.plain().file(), header_);
      if (ZSTD_isError(left_))
        throw damaged(packed_.plain().file(), "zstd", ZSTD_getErrorName(left_));
    }
    return out.pos;
  }
  int64_t position() const override { return packed_.plain().position(); }
  std::string hash() const override { return packed_.plain().hash(); }

 private:
  static constexpr size_t kHeader = 18;  // the longest header of a frame

  Packed packed_;
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> state_;
  std::string header_;  // how the frame begins
  size_t left_ = 0;
};

UniqueFd open_file(const fs::path& file) {
  if (file == kStandardInput) return UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  return UniqueFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
}

std::unique_ptr<PlainBytes> open_plain(const fs::path& file) {
  UniqueFd fd = open_file(file);
  if (!fd) throw file_error("open", file);
  return std::make_unique<PlainBytes>(file, std::move(fd));
}

constexpr size_t kReadBytes = size_t{1} << 18;

}  // namespace

Packing checked_packing(std::string_view first, const fs::path& file) {
  if (first.starts_with("\x1f\x8b")) return Packing::gzip;
  if (is_zstd(first)) return Packing::zstd;
  const std::string shown = "data: '" + file.string() + "' ";
  if (const char* name = unread_packing(first))
    throw Error(shown + "is compressed with " + name +
                ", which is not supported; decompress it, or compress it again with gzip or zstd");
  if (is_named_packed(file))
    throw Error(
        shown +
        "is neither a gzip nor a zstd file, although its name suggests it; download or create "
        "it again, or rename it if it is not compressed");
  return Packing::none;
}

std::unique_ptr<ByteStream> open_bytes(const fs::path& file) {
  auto plain = open_plain(file);
  switch (checked_packing(plain->peek(kPackingBytes), file)) {
    case Packing::gzip:
      return std::make_unique<GzipBytes>(std::move(plain));
    case Packing::zstd:
      return std::make_unique<ZstdBytes>(std::move(plain));
    case Packing::none:
      break;
  }
  return plain;
}

std::optional<int64_t> unpacked_bytes(const fs::path& file) {
  if (checked_packing(open_plain(file)->peek(kPackingBytes), file) != Packing::none)
    return std::nullopt;
  std::error_code error;
  const auto size = fs::file_size(file, error);
  return error ? std::nullopt : std::optional(static_cast<int64_t>(size));
}

std::string hash_of_file(const fs::path& file, const ShowBytes& show) {
  const auto plain = open_plain(file);
  for (std::vector<char> block(kBlock); plain->read(block.data(), block.size()) > 0;)
    show(plain->position());
  return plain->hash();
}

bool StreamBuffer::fill() {
  const std::string_view kept = rest();
  std::copy(kept.begin(), kept.end(), bytes_.data());
  const size_t size = kept.size() + kReadBytes;
  if (size > bytes_.capacity()) bytes_.reserve(2 * size, kept.size());
  begin_ = 0;
  end_ = kept.size();
  const size_t count = stream_->read(bytes_.data() + end_, kReadBytes);
  end_ += count;
  return count > 0;
}

bool StreamBuffer::has(size_t size) {
  while (rest().size() < size)
    if (!fill()) return false;
  return true;
}

}  // namespace exprun
