#include "control/launch/ranks/machines_before.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "control/launch/provenance.h"

namespace exprun {
namespace {

bool says_how_many(const std::string& override) {
  return override.starts_with("world_size=") || override.starts_with("parallelism.world_size=");
}

}  // namespace

void require_ranks_for_one_machine(const Store& store, const RunRow& run,
                                   const std::string& command,
                                   const std::vector<std::string>& overrides) {
  if (std::any_of(overrides.begin(), overrides.end(), says_how_many)) return;
  const auto environment =
      parse_json_or_discard<nlohmann::json>(store.attempt_text(run.id, run.attempt, "environment"));
  if (!environment.is_object() || !environment.contains(kSeveralMachines)) return;
  throw Error(command + ": " + run.folder + " has trained with " +
                  environment[kSeveralMachines].get<std::string>() + " on several machines (" +
                  environment.value("command_line", "") + "); give `exprun " + command + ' ' +
                  run.folder +
                  "` to each of them, with the same launcher or --nnodes and the other options, or "
                  "say how many ranks this machine is to make: `exprun " +
                  command + ' ' + run.folder + " world_size=1`",
              ExitCode::bad_recipe);
}

}  // namespace exprun
