// What of a stream is read and not yet taken.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "control/data/byte_stream.h"

namespace exprun {

class StreamBuffer {
 public:
  explicit StreamBuffer(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  std::string_view rest() const { return std::string_view(bytes_).substr(begin_); }
  void take(size_t count) { begin_ += count; }

  // Reads on; false at the end. What rest() returned before is no longer valid.
  bool fill();
  int64_t position() const { return stream_->position(); }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::string bytes_;
  size_t begin_ = 0;
};

}  // namespace exprun
