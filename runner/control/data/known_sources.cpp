#include "control/data/known_sources.h"

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/log.h"

namespace exprun {

namespace fs = std::filesystem;

KnownSources::KnownSources(const fs::path& data_folder, const InputFiles& inputs)
    : file_(data_folder / "known" / inputs.key()), settled_(inputs.are_settled()) {}

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
