// The most floating-point operations a second that devices can do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/attempt/core_share.h"
#include "engine/device/machine.h"
#include "recipe/resolved.h"

namespace exprun {

struct Peak {
  double flops = 0;   // a second
  std::string how{};  // ", estimated: ..." where nobody stated it
};

// Of all devices of the run: what the recipe says of one (the CPUs of a machine are one, however
// many ranks share them), else what is known or estimated; nothing where none of these is.
std::optional<Peak> peak_of(const ResolvedRecipe& recipe, const Machine& machine,
                            const CoreShare& share);

// Of a GPU a rank, known by its name, in a format of [precision] compute: dense, as its vendor
// states it; nothing for an unknown one: a guess would be worse.
std::optional<Peak> known_peak(std::string_view device, std::string_view format, int ranks);

// Of all ranks' CPUs, in fp32: two fused multiply-adds a cycle and core, as wide as its vectors, at
// the highest clock that the system names. Matrix units (AMX) and the clock under load are left
// out. Nothing where the vectors or the clock are not known. `cores` are those that a rank may use,
// `hertz` is their clock, 0 where it is not known.
std::optional<Peak> estimated_peak(const Machine& machine, int cores);
std::optional<Peak> estimated_peak(const Machine& machine, int cores, double hertz);

}  // namespace exprun
