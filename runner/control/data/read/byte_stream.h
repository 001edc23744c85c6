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

}  // namespace exprun
