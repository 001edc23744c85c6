// Runs a program to its end for what it prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace exprun {

struct Captured {
  int status = 0;      // exit code, or 128 + signal
  std::string output;  // standard output; standard error is this process's own
};

struct CaptureLimits {
  bool silent = false;           // its standard error is dropped
  size_t most_bytes = SIZE_MAX;  // of output; a program that prints more is cut off
};

// `input` is its standard input. At this process's death the kernel kills it. Throws Error when it
// cannot be started.
Captured capture(const std::vector<std::string>& words, const std::string& input,
                 const CaptureLimits& limits = {});

}  // namespace exprun
