// The bytes of a file in order, unpacked where it is gzip or zstd (told by its first bytes), or of
// standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/uninitialized_buffer.h"

namespace exprun {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Up to `size` bytes; 0 at the end. Throws Error that names the file.
  virtual size_t read(char* bytes, size_t size) = 0;
  // How many bytes of the file itself were read so far.
  virtual int64_t position() const = 0;
  // Of these bytes: at the end, of the whole file.
  virtual std::string hash() const = 0;
};

inline constexpr const char* kStandardInput = "-";

// Throws Error.
std::unique_ptr<ByteStream> open_bytes(const std::filesystem::path& file);

// How many bytes the stream of a file has, where its size tells it: it is not packed. Throws Error.
std::optional<int64_t> unpacked_bytes(const std::filesystem::path& file);

// Is told now and then how many bytes of files were read so far, packed as they are.
using ShowBytes = std::function<void(int64_t)>;

// What the stream of a file says at its end, without unpacking it. Throws Error.
std::string hash_of_file(const std::filesystem::path& file, const ShowBytes& show);

// How the bytes of a file are packed, told by its first ones.
enum class Packing { none, gzip, zstd };

inline constexpr size_t kPackingBytes = 10;  // so many tell it

// Throws Error for what is packed in a way that is not read, and for a name (a.gz, a.zst) that
// promises what the file is not: it would be taken for text.
Packing checked_packing(std::string_view first, const std::filesystem::path& file);

// What of a stream is read and not yet taken.

// May stand before a text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class StreamBuffer {
 public:
  explicit StreamBuffer(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  std::string_view rest() const { return {bytes_.data() + begin_, end_ - begin_}; }
  void take(size_t count) { begin_ += count; }

  // Reads on; false at the end. What rest() returned before is no longer valid.
  bool fill();
  // Whether so many bytes are in sight: reads on for them.
  bool has(size_t size);
  const ByteStream& stream() const { return *stream_; }

 private:
  std::unique_ptr<ByteStream> stream_;
  UninitializedBuffer bytes_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace exprun
