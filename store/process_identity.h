// Who writes: enough to tell, later and from elsewhere, whether that process still lives.
#pragma once

#include <cstdint>
#include <string>

namespace exprun {

struct ProcessIdentity {
  std::string host;
  std::string boot_id;  // of the kernel: a new one after every start of the machine
  int64_t pid = 0;
  int64_t pid_started = 0;  // clock ticks after boot: tells a reused pid apart
};

ProcessIdentity this_process();

// Whether locks taken by that process are seen here exactly: the same kernel, or the same host.
bool on_this_host(const std::string& host, const std::string& boot_id);

}  // namespace exprun
