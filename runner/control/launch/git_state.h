// The version of the code in a working directory, for provenance.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace exprun {

struct GitState {
  std::string commit;                  // empty in a repository without one
  std::string diff;                    // of tracked files against the commit
  bool diff_is_cut = false;            // after 1 MiB
  std::vector<std::string> untracked;  // names; at most 200
  bool dirty() const { return !diff.empty() || !untracked.empty(); }
};

// Nothing outside a repository, or where git is not installed.
std::optional<GitState> git_state(const std::filesystem::path& folder);

}  // namespace exprun
