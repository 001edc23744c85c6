#include "control/data/known_sources.h"

#include <time.h>

#include <type_traits>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/hash.h"
#include "base/log.h"
#include "control/data/file_stamp.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSettledSeconds = 3;

// False if the file changed just now or is no regular one.
bool add_stamp(const fs::path& file, Hasher& hasher, int64_t now) {
  const auto stamp = file_stamp(file);
  if (!stamp) return false;
  hasher.update(file.native());
  static_assert(std::has_unique_object_representations_v<FileStamp>);
  hasher.update(&*stamp, sizeof *stamp);
  return stamp->changed_seconds + kSettledSeconds < now;
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
    settled_ &= add_stamp(source.source.file, hasher, now);
  }
  for (const fs::path& file : vocabulary) settled_ &= add_stamp(file, hasher, now);
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
