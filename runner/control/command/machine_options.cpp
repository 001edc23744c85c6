#include "control/command/machine_options.h"

#include "base/diagnostic.h"
#include "control/launch/ranks/joining.h"

namespace exprun {

void MachineOptions::add_to(Arguments& arguments) {
  arguments
      .number("--nnodes", nnodes_,
              "machines that train together: the same line on each, but for --node-rank", 1)
      .number("--nproc-per-node", nproc_per_node_,
              "ranks on each machine, whatever parallelism.world_size says (default 1)", 1)
      .number("--node-rank", node_rank_,
              "which machine this is, from 0; the run and its store are on machine 0")
      .option("--rdzv-endpoint", "HOST:PORT", rdzv_endpoint_,
              "machine 0 as the others reach it, and a free port there")
      .note(
          "Machines may be minutes apart. The others wait for machine 0 as long as its command "
          "runs, though it may prepare data for hours, and ten minutes where nobody listens at "
          "HOST:PORT. Machine 0 waits ten minutes for each of them and then ends with 75: the same "
          "lines once more begin where these did.");
}

std::optional<JoinedRank> MachineOptions::joined(Words& overrides) const {
  const auto other = joined_here();
  const bool names_a_machine = node_rank_ || !rdzv_endpoint_.empty();
  if (!nnodes_ && !nproc_per_node_ && !names_a_machine) return other;
  if (other)
    throw Error(
        "command line: another launcher has started the ranks; leave out --nnodes, "
        "--nproc-per-node, --node-rank and --rdzv-endpoint",
        ExitCode::bad_recipe);
  if (!nnodes_ && names_a_machine)
    throw Error(
        "command line: --node-rank and --rdzv-endpoint need --nnodes, the number of machines",
        ExitCode::bad_recipe);
  Machines machines{nnodes_.value_or(1), nproc_per_node_.value_or(1), node_rank_.value_or(0),
                    rdzv_endpoint_};
  // One of one needs no endpoint.
  if (machines.nnodes == 1 && machines.rdzv_endpoint.empty())
    machines.rdzv_endpoint = "localhost:1";
  const JoinedRank joined = ranks_of_machine(machines);
  if (machines.nnodes > 1) return joined;
  if (nproc_per_node_)
    overrides.push_back("parallelism.world_size=" + std::to_string(*nproc_per_node_));
  return std::nullopt;
}

}  // namespace exprun
