// What is set aside for the end of a process that its limit (ulimit -v) has left no memory: to say
// and record why it failed takes some.
#pragma once

#include <cstddef>

namespace exprun {

// Address space, which costs nothing but its share of the limit.
class SpareMemory {
 public:
  explicit SpareMemory(size_t bytes);
  ~SpareMemory() { release(); }
  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;

  // From now on it can be had.
  void release();

 private:
  size_t bytes_;
  void* memory_;  // nothing, if there was not even that
};

}  // namespace exprun
