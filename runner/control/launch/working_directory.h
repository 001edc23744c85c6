// What concerns a run reads the paths of its recipe from where it was started.
#pragma once

#include <filesystem>
#include <optional>

#include "store/rows.h"

namespace exprun {

// Changes to the run's working directory, if there is a run, and back at the end.
class WorkingDirectory {
 public:
  enum class IfGone { throws, stays_here };  // an Error: a checkpoint alone needs no paths
  explicit WorkingDirectory(const std::optional<RunRow>& run, IfGone if_gone = IfGone::throws);
  ~WorkingDirectory();
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  std::filesystem::path former_;
};

}  // namespace exprun
