// How long the examples of instructions in some files are, before there is a recipe for them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "control/data/sources/sources.h"

namespace exprun {

// So many bytes that 19 of 20 examples have no more, as the template "plain" writes them; of large
// files the first examples tell. Nothing where no example can be read.
std::optional<int64_t> usual_example_bytes(const std::vector<Source>& files);

}  // namespace exprun
