// Where everything that runs leave lies: runs/ unless --store or EXPRUN_STORE says otherwise.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/files/run_folder.h"
#include "base/strings.h"

namespace exprun {

struct StoreFolder {
  std::filesystem::path path;   // absolute: a resume changes the working directory
  std::filesystem::path shown;  // as the user would write it

  std::filesystem::path database() const { return path / kDatabaseName; }
  std::filesystem::path data() const { return path / "data"; }
  std::filesystem::path launch_lock() const { return path / "launch.lock"; }
  std::filesystem::path reserve() const { return path / "reserve"; }  // base/files/disk_reserve.h
  RunFolder run(const std::string& folder) const { return {path / folder}; }

  // How a command names a run, by its folder, and changes of its recipe: "tiny-1a2b3c4d lr=0.1
  // --store other".
  std::string words_for(const std::string& run,
                        const std::vector<std::string>& changes = {}) const {
    std::string words = shell_quoted(run);
    for (const std::string& change : changes) words += ' ' + shell_quoted(change);
    return words + store_option(shown);
  }
};

}  // namespace exprun
