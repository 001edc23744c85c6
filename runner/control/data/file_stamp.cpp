#include "control/data/file_stamp.h"

#include <sys/stat.h>

namespace exprun {

std::optional<FileStamp> file_stamp(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileStamp{static_cast<int64_t>(status.st_dev),
                   static_cast<int64_t>(status.st_ino),
                   status.st_size,
                   status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec,
                   status.st_ctim.tv_sec,
                   status.st_ctim.tv_nsec};
}

}  // namespace exprun
