#include "control/data/read/stream_buffer.h"

#include <algorithm>

namespace exprun {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;

}  // namespace

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
