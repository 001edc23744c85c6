#include "tests/unit/store/counted_allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local int64_t count = 0;

}  // namespace

// In place of those of the library, for the whole program.
void* operator new(std::size_t size) {
  ++count;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
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
