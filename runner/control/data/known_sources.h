// Which data was made of files that have not changed since: found by their sizes and times, so that
// a second start opens none of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "control/data/read/document_chunks.h"

namespace exprun {

class KnownSources {
 public:
  // `options` is all else that decides what comes out.
  KnownSources(std::filesystem::path data_folder, const std::vector<RawSource>& sources,
               const std::vector<std::filesystem::path>& vocabulary, const std::string& options);

  // The fingerprint that these files had when they were last read.
  std::optional<std::string> fingerprint() const;
  // Not if a file changed within the last seconds: it could change again with the same times.
  void remember(const std::string& fingerprint) const;

 private:
  std::filesystem::path file_;
  bool settled_ = true;
};

}  // namespace exprun
