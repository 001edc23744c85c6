// What an attempt begins with, gathered by its launcher: the code, the machine, the environment.
#pragma once

#include <optional>
#include <string>

#include "control/launch/ranks/joined_rank.h"
#include "store/rows.h"

namespace exprun {

// Of the current working directory and this process. Takes some milliseconds (git), more where a
// GPU driver has to wake up.
Provenance gather_provenance(const std::string& command_line,
                             const std::optional<JoinedRank>& joined = std::nullopt);

// Its key for the ranks ("16 ranks") where they are on several machines.
inline constexpr const char* kSeveralMachines = "on_several_machines";

// Whether a variable of the environment is recorded: those that change how a run computes or where
// it runs (OMP_*, CUDA_*, NCCL_*, SLURM_*, ...) and what the user's list names, as
// "WANDB_MODE,MY_*".
bool is_recorded(const std::string& variable, const std::string& users_list);

}  // namespace exprun
