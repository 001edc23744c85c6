#include "base/files/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace exprun {
namespace {

namespace fs = std::filesystem;

const char* remedy(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return "; check its permissions";
    case EROFS:
      return "; choose a place that can be written to";
    case ENOSPC:
    case EDQUOT:
      return "; free some space";
    case EFBIG:
      return "; raise the limit of file sizes (ulimit -f)";
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    default:
      return "";
  }
}

UniqueFd write(const fs::path& file, std::string_view bytes, const fs::path& shown) {
  UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) throw file_error("write", shown);
  write_all(fd.get(), bytes.data(), bytes.size(), shown);
  return fd;
}

size_t regular_size(int fd, const std::filesystem::path& file) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw file_error("read", file);
  if (S_ISDIR(status.st_mode)) throw file_error("map", file, EISDIR);
  if (!S_ISREG(status.st_mode)) throw Error("file: '" + file.string() + "' is not a regular file");
  return static_cast<size_t>(status.st_size);
}

}  // namespace

FileError file_error(const std::string& action, const std::filesystem::path& file) {
  return file_error(action, file, errno);
}

FileError file_error(const std::string& action, const std::filesystem::path& file,
                     int error_number) {
  return FileError("file: cannot " + action + " '" + file.string() +
                   "': " + std::generic_category().message(error_number) + remedy(error_number));
}

bool path_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool file_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool folder_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

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

std::filesystem::path temporary_name(const std::filesystem::path& target) {
  static std::atomic<int> counter{0};
  return target.string() + kTemporary + std::to_string(::getpid()) + "-" +
         std::to_string(counter++);
}

bool is_temporary(const std::filesystem::path& path) {
  return path.filename().string().find(kTemporary) != std::string::npos;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw file_error("make folder", folder, error.value());
}

namespace {

fs::path nearest_that_exists(fs::path folder) {
  std::error_code error;
  folder = fs::absolute(folder, error);
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

}  // namespace

std::optional<int64_t> free_space(fs::path folder) {
  std::error_code error;
  const fs::space_info space = fs::space(nearest_that_exists(std::move(folder)), error);
  return error ? std::nullopt : std::optional(static_cast<int64_t>(space.available));
}

std::string what_forbids_writing(fs::path folder) {
  if (::access(nearest_that_exists(std::move(folder)).c_str(), W_OK | X_OK) == 0) return "";
  return std::generic_category().message(errno);
}

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

void MappedFile::release(size_t begin, size_t end) const {
  if (end <= begin) return;
  const size_t first = begin - begin % static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  ::madvise(const_cast<std::byte*>(data_) + first, end - first, MADV_DONTNEED);
}

}  // namespace exprun
