// What this process has done so far, as the kernel counts it.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace exprun {

// A line of /proc/self/io: "rchar" are the bytes read, "syscw" the calls that wrote. 0 on a machine
// that does not count them.
inline int64_t io_counter(const std::string& name) {
  std::ifstream file("/proc/self/io");
  std::string word;
  int64_t count = 0;
  while (file >> word >> count)
    if (word == name + ":") return count;
  return 0;
}

// Bytes read, and of memory and mapped files the pages that were touched first (the kernel may have
// brought some more along with each).
inline int64_t bytes_touched() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return io_counter("rchar") + (usage.ru_minflt + usage.ru_majflt) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace exprun
