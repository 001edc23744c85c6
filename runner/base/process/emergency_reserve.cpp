#include "base/process/emergency_reserve.h"

#include <sys/mman.h>

#include <utility>

namespace exprun {

EmergencyReserve::EmergencyReserve(size_t bytes)
    : bytes_(bytes),
      memory_(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (memory_ == MAP_FAILED) memory_ = nullptr;
}

void EmergencyReserve::release() {
  if (void* const memory = std::exchange(memory_, nullptr)) ::munmap(memory, bytes_);
}

}  // namespace exprun
