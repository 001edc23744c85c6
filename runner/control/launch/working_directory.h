// What concerns a run reads the paths of its recipe from where it was started.
#pragma once

#include <filesystem>
#include <optional>

#include "store/rows.h"

namespace exprun {

// Changes to the run's working directory, if there is a run, and back at the end. Where it is gone
// (a project was renamed or moved) it stays and says so: what is missing is told at its key.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::optional<RunRow>& run);
  ~WorkingDirectory();
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  std::filesystem::path former_;
};

}  // namespace exprun
