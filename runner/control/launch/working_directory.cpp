#include "control/launch/working_directory.h"

#include "base/log.h"

namespace exprun {

namespace fs = std::filesystem;

WorkingDirectory::WorkingDirectory(const std::optional<RunRow>& run) {
  std::error_code error;
  former_ = fs::current_path(error);
  if (!run || run->working_directory == former_) return;
  fs::current_path(run->working_directory, error);
  if (error)
    log_warning(run->folder + " was started in " + run->working_directory +
                ", which cannot be entered (" + error.message() +
                "); paths of its recipe are read from here");
}

WorkingDirectory::~WorkingDirectory() {
  std::error_code ignored;
  fs::current_path(former_, ignored);
}

}  // namespace exprun
