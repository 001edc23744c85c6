#include "base/temporary_name.h"

#include <unistd.h>

#include <atomic>

namespace exprun {

std::filesystem::path temporary_name(const std::filesystem::path& target) {
  static std::atomic<int> counter{0};
  return target.string() + kTemporary + std::to_string(::getpid()) + "-" +
         std::to_string(counter++);
}

bool is_temporary(const std::filesystem::path& path) {
  return path.filename().string().find(kTemporary) != std::string::npos;
}

}  // namespace exprun
