#include "tests/unit/store/counted_allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local int64_t count = 0;

}  // namespace

// In place of those of the library, for the whole program. AddressSanitizer has its own of the
// second, which would not fit to the delete below.
void* operator new(std::size_t size) {
  if (void* memory = ::operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace exprun {

int64_t allocations() {
  return count;
}

}  // namespace exprun
