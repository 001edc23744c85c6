// Memory set aside for the end of a process that has reached its limit (ulimit -v): to report and
// record why it failed takes some.
#pragma once

#include <cstddef>

namespace exprun {

// Address space, which costs nothing but its share of the limit.
class EmergencyReserve {
 public:
  explicit EmergencyReserve(size_t bytes);
  ~EmergencyReserve() { release(); }
  EmergencyReserve(const EmergencyReserve&) = delete;
  EmergencyReserve& operator=(const EmergencyReserve&) = delete;

  // From now on it can be had.
  void release();

 private:
  size_t bytes_;
  void* memory_;  // nothing, if there was not even that
};

}  // namespace exprun
