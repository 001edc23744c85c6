#include "control/data/fetch/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/atomic_file.h"
#include "base/file_error.h"
#include "base/log.h"
#include "base/signals.h"

namespace exprun {

namespace fs = std::filesystem;

fs::path part_path(const fs::path& file) {
  return file.string() + ".part";
}

std::optional<PartFile> PartFile::take(const fs::path& file) {
  const fs::path path = part_path(file);
  for (bool told = false; stop_requested() == StopRequest::none;) {
    auto lock = FileLock::try_take(path);
    if (lock && lock->is_of(path)) return PartFile(file, path, std::move(*lock));
    if (lock) continue;
    if (!std::exchange(told, true))
      log_info("another process fetches '" + file.string() + "': waiting for it");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return std::nullopt;
}

PartFile::PartFile(fs::path file, fs::path path, FileLock lock)
    : file_(std::move(file)), path_(std::move(path)), lock_(std::move(lock)) {}

PartFile::~PartFile() {
  if (!lock_ || lock_->fd() < 0 || size() > 0) return;
  ::unlink(version_file().c_str());
  ::unlink(path_.c_str());
}

int64_t PartFile::size() const {
  struct stat status {};
  return ::fstat(lock_->fd(), &status) == 0 ? status.st_size : 0;
}

bool PartFile::append(std::string_view bytes) {
  for (int64_t at = size(); !bytes.empty();) {
    const ssize_t written = ::pwrite(lock_->fd(), bytes.data(), bytes.size(), at);
    if (written < 0) return false;
    at += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool PartFile::sync() {
  return ::fsync(lock_->fd()) == 0;
}

fs::path PartFile::version_file() const {
  return path_.string() + ".version";
}

std::string PartFile::version() const {
  std::error_code ignored;
  return fs::exists(version_file(), ignored) ? read_file(version_file()) : "";
}

void PartFile::begin(const std::string& version) {
  if (::ftruncate(lock_->fd(), 0) != 0) throw file_error("write", path_);
  if (version.empty())
    ::unlink(version_file().c_str());
  else
    write_file_atomically(version_file(), version);
}

void PartFile::finish() {
  ::unlink(version_file().c_str());  // while no other process can have begun anew
  std::error_code error;
  fs::rename(path_, file_, error);
  if (error) throw file_error("write", file_, error.value());
  lock_.reset();
  sync_file(folder_of(file_));
}

}  // namespace exprun
