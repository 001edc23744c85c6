#include "base/write_all.h"

#include <unistd.h>

#include <cerrno>

#include "base/file_error.h"

namespace exprun {

void write_all(int fd, const void* bytes, size_t size, const std::filesystem::path& shown) {
  auto next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::write(fd, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("write", shown);
    next += count;
    size -= static_cast<size_t>(count);
  }
}

}  // namespace exprun
