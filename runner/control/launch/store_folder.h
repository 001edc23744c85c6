// Where everything that runs leave lies: runs/ unless --store or EXPRUN_STORE says otherwise.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/files/run_folder.h"

namespace exprun {

struct StoreFolder {
  std::filesystem::path path;   // absolute: a resume changes the working directory
  std::filesystem::path shown;  // as the user would write it

  std::filesystem::path database() const { return path / "exprun.db"; }
  std::filesystem::path data() const { return path / "data"; }
  std::filesystem::path launch_lock() const { return path / "launch.lock"; }
  std::filesystem::path reserve() const { return path / "reserve"; }  // base/files/disk_reserve.h
  RunFolder run(const std::string& folder) const { return {path / folder}; }

  // What the store calls a run that a command line names: of the path of its folder, as a shell
  // completes it ("runs/tiny-1a2b3c4d/"), the name. Nothing for a path that leads elsewhere, whose
  // last component is nobody's name here.
  std::optional<std::string> word_of_run(const std::string& words) const;

  // How a command names a run, by its folder: "tiny-1a2b3c4d --store other".
  std::string words_for(const std::string& run) const;
};

}  // namespace exprun
