// Memory for bytes that is used again and never zeroed: what is read there was written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace exprun {

class ByteRoom {
 public:
  ByteRoom() = default;
  ByteRoom(ByteRoom&& other) noexcept { *this = std::move(other); }
  ByteRoom& operator=(ByteRoom&& other) noexcept {
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
