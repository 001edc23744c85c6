// The folder of a run that is coming to be.
#pragma once

#include <filesystem>

namespace exprun {

// Makes the folder, and removes it again unless it is kept. Throws Error, also for a folder that is
// there already: that one is somebody else's, and stays.
class FreshFolder {
 public:
  explicit FreshFolder(std::filesystem::path path);
  ~FreshFolder();
  FreshFolder(const FreshFolder&) = delete;
  FreshFolder& operator=(const FreshFolder&) = delete;

  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace exprun
