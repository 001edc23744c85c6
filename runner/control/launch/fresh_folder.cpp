#include "control/launch/fresh_folder.h"

#include "base/diagnostic.h"

namespace exprun {

namespace fs = std::filesystem;

FreshFolder::FreshFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);
  const bool made = !error && fs::create_directory(path_, error);
  if (error)
    throw Error("launch: cannot make the run's folder '" + path_.string() +
                "': " + error.message() + "; choose another place with --store DIR");
  if (!made)
    throw Error("launch: the new run's folder '" + path_.string() +
                "' is there already; the same command again chooses another name");
}

FreshFolder::~FreshFolder() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
}

}  // namespace exprun
