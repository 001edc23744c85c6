#include "control/data/known_sources.h"

#include <sys/stat.h>
#include <time.h>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/hash.h"
#include "base/log.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSettledSeconds = 3;

// What the kernel says of a file; false if it changed just now or is no file.
bool add_status(const fs::path& file, Hasher& hasher, int64_t now) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  hasher.update(file.native());
  const int64_t words[] = {static_cast<int64_t>(status.st_dev),
                           static_cast<int64_t>(status.st_ino),
                           status.st_size,
                           status.st_mtim.tv_sec,
                           status.st_mtim.tv_nsec,
                           status.st_ctim.tv_sec,
                           status.st_ctim.tv_nsec};
  hasher.update(words, sizeof words);
  return status.st_ctim.tv_sec + kSettledSeconds < now;
}

}  // namespace

KnownSources::KnownSources(fs::path data_folder, const std::vector<RawSource>& sources,
                           const std::vector<fs::path>& vocabulary, const std::string& options) {
  Hasher hasher;
  hasher.update(options);
  std::error_code ignored;
  hasher.update(fs::current_path(ignored).native());
  const int64_t now = ::time(nullptr);
  for (const RawSource& source : sources) {
    hasher.update(source.part == Part::train ? "t" : "v");
    settled_ &= add_status(source.source.file, hasher, now);
  }
  for (const fs::path& file : vocabulary) settled_ &= add_status(file, hasher, now);
  file_ = data_folder / "known" / hasher.hex();
}

std::optional<std::string> KnownSources::fingerprint() const {
  std::error_code ignored;
  if (!settled_ || !fs::exists(file_, ignored)) return std::nullopt;
  return read_file(file_);
}

// Only a saving of time: a folder that cannot be written is told by what must be written.
void KnownSources::remember(const std::string& fingerprint) const try {
  if (!settled_) return;
  std::error_code ignored;
  fs::create_directories(file_.parent_path(), ignored);
  write_file_atomically(file_, fingerprint);
} catch (const Error& error) {
  log(LogLevel::debug, error.what());
}

}  // namespace exprun
