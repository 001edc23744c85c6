// What has arrived of a file so far: "<file>.part", of one process at a time, and the version of
// the file that it is a part of: "<file>.part.version".
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_lock.h"

namespace exprun {

// "<file>.part"
std::filesystem::path part_path(const std::filesystem::path& file);

class PartFile {
 public:
  // Waits while another process has it; nothing if a stop was requested meanwhile. That other one
  // may have finished the file. Throws Error when it cannot be opened.
  static std::optional<PartFile> take(const std::filesystem::path& file);
  // An empty one goes.
  ~PartFile();
  PartFile(PartFile&&) noexcept = default;
  PartFile& operator=(PartFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int64_t size() const;

  // False with errno where it fails.
  bool append(std::string_view bytes);
  bool sync();

  // As the server named it; empty if it did not.
  std::string version() const;
  // Again from nothing, which a kill on the way leaves too. Throws Error.
  void begin(const std::string& version);

  // Gives it the file's name, durably. Throws Error.
  void finish();

 private:
  PartFile(std::filesystem::path file, std::filesystem::path path, FileLock lock);
  std::filesystem::path version_file() const;

  std::filesystem::path file_, path_;
  std::optional<FileLock> lock_;  // none once it is finished
};

}  // namespace exprun
