#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/file_error.h"
#include "base/unique_fd.h"

namespace exprun {
namespace {

size_t regular_size(int fd, const std::filesystem::path& file) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw file_error("read", file);
  if (S_ISDIR(status.st_mode)) throw file_error("map", file, EISDIR);
  if (!S_ISREG(status.st_mode)) throw Error("file: '" + file.string() + "' is no regular file");
  return static_cast<size_t>(status.st_size);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe would wait
  if (!fd) throw file_error("open", file);
  size_ = regular_size(fd.get(), file);
  if (size_ == 0) return;
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) throw file_error("map", file);
  data_ = static_cast<const std::byte*>(address);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

void MappedFile::expect_sequential() const {
  if (data_) ::madvise(const_cast<std::byte*>(data_), size_, MADV_SEQUENTIAL);
}

}  // namespace exprun
