#include "base/process/program.h"

#include <system_error>

namespace exprun {

std::filesystem::path own_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

const char* version() {
  return EXPRUN_VERSION;  // from CMakeLists.txt
}

}  // namespace exprun
