#include "engine/record/peak.h"

#include <algorithm>
#include <cstdio>

#include "base/machine/processor.h"

namespace exprun {

namespace {

constexpr int kOperationsOfFusedMultiplyAdd = 2, kUnits = 2;

int lanes_of(const std::string& instruction_set) {
  if (instruction_set.starts_with("AVX512")) return 16;
  return instruction_set == "AVX2" ? 8 : 0;
}

}  // namespace

std::optional<Peak> peak_of(const ResolvedRecipe& recipe, const Machine& machine,
                            const CoreShare& share) {
  const auto given = recipe.section("metrics").find<double>("peak_tflops");
  const auto format = recipe.section("precision").get<std::string>("compute");
  const bool cpu = machine.device == "cpu";
  if (given) return Peak{*given * 1e12 * (cpu ? share.machines : machine.world_size)};
  return cpu ? estimated_peak(machine, share.cores)
             : known_peak(machine.device, format, machine.world_size);
}

// The first name that the device's contains.
std::optional<Peak> known_peak(std::string_view device, std::string_view format, int ranks) {
  struct Known {
    std::string_view name;
    double half, tf32, fp32;
  };
  static constexpr Known kDevices[] = {{"H100 PCIe", 756e12, 378e12, 51.2e12},
                                       {"H100", 989e12, 494.7e12, 66.9e12},
                                       {"H200", 989e12, 494.7e12, 66.9e12},
                                       {"A100", 312e12, 156e12, 19.5e12}};
  for (const Known& known : kDevices) {
    if (device.find(known.name) == std::string_view::npos) continue;
    return Peak{ranks * (format == "fp32"   ? known.fp32
                         : format == "tf32" ? known.tf32
                                            : known.half)};
  }
  return std::nullopt;
}

std::optional<Peak> estimated_peak(const Machine& machine, int cores, double hertz) {
  const int lanes = lanes_of(machine.instruction_set);
  if (lanes == 0 || hertz == 0) return std::nullopt;
  const int used = std::min(machine.threads, cores);  // more threads share what cores there are
  char how[128];
  std::snprintf(how, sizeof how,
                ", estimated: fp32, %d %s x %d %s x %.4g GHz x %d units x %d operations x %d lanes",
                machine.world_size, machine.world_size == 1 ? "rank" : "ranks", used,
                used == 1 ? "core" : "cores", hertz / 1e9, kUnits, kOperationsOfFusedMultiplyAdd,
                lanes);
  return Peak{
      1.0 * machine.world_size * used * hertz * kUnits * kOperationsOfFusedMultiplyAdd * lanes,
      how};
}

std::optional<Peak> estimated_peak(const Machine& machine, int cores) {
  return estimated_peak(machine, cores, highest_clock());
}

}  // namespace exprun
