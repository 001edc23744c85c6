// Which ranks of a run this process launches: all of them; one, where an external launcher has
// started the command for each rank (torchrun, srun and mpirun say so in the environment); or those
// of one machine, where the same command was given on several.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/machine/network.h"

namespace exprun {

struct LocalRanks {
  int rank = 0, world_size = 1;
  int local_rank = 0;          // among those of its host
  int ranks_here = 1;          // from `rank` on
  bool restarts_here = false;  // whether this process restarts them, or the external launcher does
  bool several_machines = false;

  // Where the ranks meet. Rank 0 serves it, unless the launcher does.
  std::string address;
  uint16_t port = 0;
  bool store_is_served = false;

  int restarts = 0;  // of all ranks, so far

  // What the external launcher calls this job, where it says so: another job's ranks may meet at
  // the same port.
  std::string job = {};

  // Of rank 0 that serves the meeting: where others see from the start that it will come, though an
  // hour of data may be to prepare. Given to the trainer, or closed.
  std::shared_ptr<ListeningSocket> rendezvous_point = nullptr;
};

using Variables = std::function<const char*(const char*)>;

// The rank of an external launcher that this process is, as its environment says; nothing where
// none has started it, or one with a single rank. Throws Error when a variable is missing or makes
// no sense.
std::optional<LocalRanks> external_rank();
std::optional<LocalRanks> external_rank(const Variables& variables);

// As torchrun's options of these names say it.
struct Machines {
  int64_t nnodes = 1, nproc_per_node = 1;  // at least 1
  int64_t node_rank = 0;
  std::string rdzv_endpoint;  // HOST:PORT of the machine with node_rank 0
};

// The ranks of this machine. Throws Error (wrong usage).
LocalRanks ranks_of_machine(const Machines& machines);

}  // namespace exprun
