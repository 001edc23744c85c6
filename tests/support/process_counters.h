// What this process has done so far, as the kernel counts it.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

namespace exprun {

// A line of /proc/self/io: "rchar" are the bytes read, "syscw" the calls that wrote. On a machine
// that does not count them nothing, and a line "SKIPPED: ...", which tools/test counts.
inline std::optional<int64_t> io_counter(const std::string& name) {
  std::ifstream file("/proc/self/io");
  std::string word;
  int64_t count = 0;
  while (file >> word >> count)
    if (word == name + ":") return count;
  std::puts("SKIPPED: this machine has no /proc/self/io");
  return std::nullopt;
}

// Bytes read, and of memory and mapped files the pages that were touched first (the kernel may have
// brought some more along with each). Nothing where io_counter has nothing.
inline std::optional<int64_t> bytes_touched() {
  const auto read = io_counter("rchar");
  if (!read) return std::nullopt;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return *read + (usage.ru_minflt + usage.ru_majflt) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace exprun
