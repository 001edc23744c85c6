#include "control/data/stream_buffer.h"

namespace exprun {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

}  // namespace

bool StreamBuffer::fill() {
  bytes_.erase(0, begin_);
  begin_ = 0;
  const size_t size = bytes_.size();
  bytes_.resize(size + kReadBytes);
  const size_t count = stream_->read(bytes_.data() + size, kReadBytes);
  bytes_.resize(size + count);
  return count > 0;
}

}  // namespace exprun
