#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/file_error.h"
#include "base/temporary_name.h"
#include "base/unique_fd.h"
#include "base/write_all.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

UniqueFd write(const fs::path& file, std::string_view bytes, const fs::path& shown) {
  UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) throw file_error("write", shown);
  write_all(fd.get(), bytes.data(), bytes.size(), shown);
  return fd;
}

}  // namespace

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

void write_file_atomically(const fs::path& file, std::string_view bytes) {
  const fs::path temporary = temporary_name(file);
  try {
    if (::fsync(write(temporary, bytes, file).get()) != 0) throw file_error("write", file);
    if (::rename(temporary.c_str(), file.c_str()) != 0) throw file_error("replace", file);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_file(folder_of(file));
}

void write_file(const fs::path& file, std::string_view bytes) {
  write(file, bytes, file);
}

std::string read_file(const fs::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw file_error("open", file);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw file_error("read", file);
  std::string bytes(static_cast<size_t>(status.st_size) + 1, '\0');
  size_t filled = 0;
  // The size is a hint only: files of /proc and growing files are read to their end.
  for (;;) {
    const ssize_t count = ::read(fd.get(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("read", file);
    if (count == 0) break;
    filled += static_cast<size_t>(count);
    if (filled == bytes.size()) bytes.resize(bytes.size() * 2);
  }
  bytes.resize(filled);
  return bytes;
}

void sync_file(const fs::path& file_or_folder) {
  const UniqueFd fd(::open(file_or_folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw file_error("open", file_or_folder);
  // EINVAL: a file system without fsync for folders.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) throw file_error("sync", file_or_folder);
}

}  // namespace exprun
