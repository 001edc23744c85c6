// Which data was made of files that have not changed since: found by their sizes and times, so that
// a second start opens none of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "control/data/input_files.h"

namespace exprun {

class KnownSources {
 public:
  KnownSources(const std::filesystem::path& data_folder, const InputFiles& inputs);

  // The fingerprint that these files had when they were last read.
  std::optional<std::string> fingerprint() const;
  // Not of files that are not settled.
  void remember(const std::string& fingerprint) const;

 private:
  std::filesystem::path file_;
  bool settled_;
};

}  // namespace exprun
