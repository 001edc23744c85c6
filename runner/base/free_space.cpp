#include "base/free_space.h"

namespace exprun {

namespace fs = std::filesystem;

std::optional<int64_t> free_space(fs::path folder) {
  std::error_code error;
  folder = fs::absolute(folder, error);
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  const fs::space_info space = fs::space(folder, error);
  return error ? std::nullopt : std::optional(static_cast<int64_t>(space.available));
}

}  // namespace exprun
