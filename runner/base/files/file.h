// Files and folders of the operating system: errors that name them, descriptors, reading, writing
// and mapping whole files.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/diagnostic.h"

namespace exprun {

// The Error of a system call that failed on a file.
// Told apart from what is wrong in the file: another call may find it mended.
class FileError : public Error {
 public:
  using Error::Error;
};

// Reads errno: "file: cannot write 'runs/a': No space left on device; free some space ...".
FileError file_error(const std::string& action, const std::filesystem::path& file);

// The same for an error number kept from before.
FileError file_error(const std::string& action, const std::filesystem::path& file,
                     int error_number);

// An owned file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Replaces `file` with `bytes`. Throws Error; on failure the old file is untouched and no
// temporary file stays.
void write_file_atomically(const std::filesystem::path& file, std::string_view bytes);

// Replaces `file`, but neither at once nor durably: for what fills an AtomicFolder, whose commit
// sees to that. Throws Error.
void write_file(const std::filesystem::path& file, std::string_view bytes);

// Whether it is there, as far as can be asked: a path, a regular file, a folder.
bool path_exists(const std::filesystem::path& path);
bool file_exists(const std::filesystem::path& path);
bool folder_exists(const std::filesystem::path& path);

// The folder that a file lies in: "." for a name alone.
std::filesystem::path folder_of(const std::filesystem::path& file);

// The whole file. Throws Error that names the file and the reason.
std::string read_file(const std::filesystem::path& file);

// Makes a file or folder durable. Throws Error.
void sync_file(const std::filesystem::path& file_or_folder);

// write(2) until everything is written. Throws Error that names `shown`: the file as its user knows
// it.
void write_all(int fd, const void* bytes, size_t size, const std::filesystem::path& shown);

// What files and folders are called until they are whole.
inline constexpr const char* kTemporary = ".tmp-";

// "<target>.tmp-<pid>-<number>": unique among processes and threads.
std::filesystem::path temporary_name(const std::filesystem::path& target);

bool is_temporary(const std::filesystem::path& path);

// Makes a folder and those above it; one that is there stays. Throws FileError.
void make_folder(const std::filesystem::path& folder);

// Bytes that this user may still write in `folder`, or in what it would be made in; nullopt where
// the system does not say.
std::optional<int64_t> free_space(std::filesystem::path folder);

// Why this user cannot write in `folder`, or in what it would be made in; empty where it can.
std::string what_forbids_writing(std::filesystem::path folder);

// A file mapped read-only into memory.
class MappedFile {
 public:
  // Throws Error that names the file and the reason. An empty file maps to an empty span.
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Read-ahead as far as the kernel likes; a hint.
  void expect_sequential() const;

  // These bytes are not read again soon: they leave this process's memory. A hint.
  void release(size_t begin, size_t end) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace exprun
