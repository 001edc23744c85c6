// What of a stream is read and not yet taken.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/byte_room.h"
#include "control/data/read/byte_stream.h"

namespace exprun {

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
  ByteRoom bytes_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace exprun
