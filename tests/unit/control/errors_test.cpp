// Each case of tests/errors that has a machine is answered to the letter.
#include "base/diagnostic.h"
#include "control/launch/machine_problems.h"
#include "recipe/capacity.h"
#include "tests/support/error_cases.h"

using namespace exprun;

namespace {

Hardware hardware_of(const nlohmann::json& machine) {
  Hardware hardware{machine.value("cores", int64_t{1}),
                    machine.value("processor", ""),
                    machine.value("memory", 0.0),
                    {{}, machine.value("gpu_problem", ""), machine.value("gpu_remedy", "")}};
  for (const int64_t memory : machine.value("gpus", std::vector<int64_t>()))
    hardware.gpus.gpus.push_back({"", "", memory});
  return hardware;
}

std::string message_of(const CaseFolder& folder) {
  const nlohmann::json machine = json_of(folder / "machine.json");
  const ResolvedRecipe recipe = resolve(recipe_of(folder), facts_of(folder));
  const Hardware hardware = hardware_of(machine);
  Diagnostics found = machine_problems(recipe, hardware);
  const PlannedMemory planned{machine.value("of_model", 0.0), machine.value("activations", 0.0),
                              machine.value("checkpoint_copy", 0.0)};
  const Diagnostics memory = memory_problems(recipe, planned, hardware);
  found.insert(found.end(), memory.begin(), memory.end());
  const CheckpointSpace space{machine.value("checkpoint", int64_t{0}),
                              machine.value("saved", int64_t{0}), 100, "runs",
                              machine.value("disk", int64_t{0})};
  const Diagnostics disk = checkpoint_space_problems(recipe, space);
  found.insert(found.end(), disk.begin(), disk.end());
  return render(found);
}

}  // namespace

TEST_CASE("errors: what a machine lacks is explained as expected") {
  check_cases(CaseOf::machine, message_of);
}
