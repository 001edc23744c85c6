#include "control/launch/store_folder.h"

#include <system_error>

#include "base/strings.h"

namespace exprun {

namespace fs = std::filesystem;

std::optional<std::string> StoreFolder::word_of_run(const std::string& words) const {
  const std::string trimmed = words.substr(0, words.find_last_not_of('/') + 1);
  if (trimmed.find('/') == std::string::npos) return trimmed;
  std::error_code ignored;
  const fs::path file = fs::absolute(trimmed, ignored);
  if (fs::weakly_canonical(file.parent_path(), ignored) != fs::weakly_canonical(path, ignored))
    return std::nullopt;
  return file.filename().string();
}

std::string StoreFolder::words_for(const std::string& run) const {
  return shell_quoted(run) + store_option(shown);
}

}  // namespace exprun
