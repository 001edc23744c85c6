#include "control/launch/ranks/allowed_restarts.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>

#include "base/diagnostic.h"

namespace exprun {

AllowedRestarts::AllowedRestarts() : file_(::memfd_create("restarts", MFD_CLOEXEC)) {
  if (!file_)
    throw Error(std::string("launch: cannot make a file in memory: ") + std::strerror(errno));
}

std::optional<Restarts> AllowedRestarts::heard() const {
  char text[64];
  const ssize_t size = ::pread(file_.get(), text, sizeof text, 0);
  if (size <= 0) return std::nullopt;
  std::istringstream words(std::string(text, static_cast<size_t>(size)));
  Restarts restarts;
  if (!(words >> restarts.so_far >> restarts.most)) return std::nullopt;
  return restarts;
}

void AllowedRestarts::forget() {
  if (::ftruncate(file_.get(), 0) != 0)
    throw Error(std::string("launch: cannot empty a file in memory: ") + std::strerror(errno));
}

}  // namespace exprun
