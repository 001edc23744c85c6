#include "control/data/read/stream_buffer.h"

#include <algorithm>

namespace exprun {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;

}  // namespace

bool StreamBuffer::fill() {
  const std::string_view kept = rest();
  if (kept.size() + kReadBytes > capacity_) {
    capacity_ = 2 * (kept.size() + kReadBytes);
    auto wider = std::make_unique_for_overwrite<char[]>(capacity_);
    std::copy(kept.begin(), kept.end(), wider.get());
    bytes_ = std::move(wider);
  } else {
    std::copy(kept.begin(), kept.end(), bytes_.get());
  }
  begin_ = 0;
  end_ = kept.size();
  const size_t count = stream_->read(bytes_.get() + end_, kReadBytes);
  end_ += count;
  return count > 0;
}

bool StreamBuffer::has(size_t size) {
  while (rest().size() < size)
    if (!fill()) return false;
  return true;
}

}  // namespace exprun
