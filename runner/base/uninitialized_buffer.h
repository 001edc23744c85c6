// Memory for bytes that is reused and never zeroed: read only what was written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace exprun {

class UninitializedBuffer {
 public:
  UninitializedBuffer() = default;
  UninitializedBuffer(UninitializedBuffer&& other) noexcept { *this = std::move(other); }
  UninitializedBuffer& operator=(UninitializedBuffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  // At least so much; the first `kept` bytes stay what they are.
  void reserve(size_t capacity, size_t kept) {
    if (capacity <= capacity_) return;
    auto wider = std::make_unique_for_overwrite<char[]>(capacity);
    std::copy_n(bytes_.get(), kept, wider.get());
    bytes_ = std::move(wider);
    capacity_ = capacity;
  }

  char* data() { return bytes_.get(); }
  const char* data() const { return bytes_.get(); }
  size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t capacity_ = 0;
};

}  // namespace exprun
