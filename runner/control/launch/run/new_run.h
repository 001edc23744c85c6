// A new run: folder, lock and files first, then the row. What fails in between is removed again,
// so there is no row without a folder; a crash leaves at most a folder that no row names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "control/launch/prepared_launch.h"
#include "control/launch/supervise.h"
#include "recipe/resolved.h"
#include "store/rows.h"

namespace exprun {

Attempt begin_new_run(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                      const PreparedLaunch& prepared);

// The request's recipe as it is stored: with whole paths in its overrides.
std::string stored_text(const LaunchRequest& request);

// The files that the trainer reads: recipe.json and data.json.
void write_hand_over(const RunFolder& folder, const LaunchRequest& request,
                     const PreparedData& data);

// The folder of a run that is coming to be.

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

// The identity of a run, on every machine and for ever.

std::string make_uid();  // 32 hex digits from the kernel's generator

// "quickstart-1a2b3c4d": the run's folder below the store's.
std::string run_folder_name(const std::string& name, const std::string& uid);

// A resolved recipe as the rows that the store keeps of it.

std::vector<ParameterRow> parameter_rows(const ResolvedRecipe& resolved);

}  // namespace exprun
