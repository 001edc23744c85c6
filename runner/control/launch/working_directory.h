// A resume reads its paths from where the run was started.
#pragma once

#include <filesystem>
#include <optional>

#include "store/rows.h"

namespace exprun {

// Changes to the run's working directory, if there is a run, and back at the end.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::optional<RunRow>& run);  // throws Error
  ~WorkingDirectory();
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  std::filesystem::path former_;
};

}  // namespace exprun
