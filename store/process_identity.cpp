#include "store/process_identity.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/machine/host_name.h"

namespace exprun {
namespace {

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

// Field 22 of /proc/self/stat; the second, the program's name, may hold spaces and brackets.
int64_t start_ticks() {
  std::string text;
  std::getline(std::ifstream("/proc/self/stat"), text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  int64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

}  // namespace

ProcessIdentity this_process() {
  return {host_name(), boot_id(), static_cast<int64_t>(::getpid()), start_ticks()};
}

bool on_this_host(const std::string& host, const std::string& id) {
  return (!id.empty() && id == boot_id()) || host == host_name();
}

}  // namespace exprun
