#include "control/launch/run/present_folder.h"

#include <filesystem>
#include <system_error>

#include "base/diagnostic.h"

namespace exprun {

bool has_folder(const StoreFolder& folder, const std::string& run) {
  std::error_code ignored;
  return std::filesystem::is_directory(folder.run(run).path, ignored);
}

void require_run_folder(const StoreFolder& folder, const std::string& run,
                        const std::string& command, const std::string& or_else) {
  if (!has_folder(folder, run))
    throw Error(command + ": the folder of " + run +
                " is not in this store; if the run was merged from another store, name that one "
                "with --store" +
                or_else);
}

std::string shown_folder(const StoreFolder& folder, const std::string& run) {
  return has_folder(folder, run)
             ? (folder.shown / run).string()
             : "not in this store: the run was merged from another one, or its folder deleted";
}

}  // namespace exprun
