// What an attempt begins with, gathered by its launcher: the code, the machine, the environment.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "control/launch/ranks/external_launcher.h"
#include "store/rows.h"

namespace exprun {

// Of the current working directory and this process; `store` as of git_state(). Takes some
// milliseconds (git), more where a GPU driver has to wake up.
Provenance gather_provenance(const std::string& command_line, const std::filesystem::path& store,
                             const std::optional<LocalRanks>& ranks = std::nullopt);

// Its key for the ranks ("16 ranks") where they are on several machines.
inline constexpr const char* kSeveralMachines = "on_several_machines";

// Whether a variable of the environment is recorded: those that change how a run computes or where
// it runs (OMP_*, CUDA_*, NCCL_*, SLURM_*, ...) and what the user's list names, as
// "WANDB_MODE,MY_*".
bool is_recorded(const std::string& variable, const std::string& users_list);

// The version of the code in a working directory, for provenance.
struct GitState {
  std::string commit;                  // empty in a repository without one
  std::string diff;                    // of tracked files against the commit
  bool diff_is_cut = false;            // after 1 MiB
  std::vector<std::string> untracked;  // names; at most 200
  bool untracked_is_cut = false;       // there are more
  bool dirty() const { return !diff.empty() || !untracked.empty(); }
};

// Nothing outside a repository, or where git is not installed. What is in `store`, the folder that
// runs write to, is no code.
std::optional<GitState> git_state(const std::filesystem::path& folder,
                                  const std::filesystem::path& store);

}  // namespace exprun
