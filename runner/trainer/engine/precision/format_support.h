// Whether a device can compute in a recipe's formats.
#pragma once

#include <optional>
#include <string>

#include "engine/device/gpu.h"
#include "recipe/section.h"

namespace exprun {

// Throws RecipeError at [precision] compute where it cannot. What it can only emulate, slower than
// fp32, is said in the text that is returned. `processor` are its flags (base/machine/processor.h).
std::optional<std::string> check_formats(const Section& precision, const std::string& processor);
std::optional<std::string> check_formats(const Section& precision, const GpuFacts& gpu);

// TF32 for fp32 products where the recipe asks for it, full fp32 elsewhere; of this process.
void use_formats(const Section& precision);

}  // namespace exprun
