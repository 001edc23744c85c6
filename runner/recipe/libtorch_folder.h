// Where LibTorch lies, for ${libtorch} in the paths of a recipe.
#pragma once

#include <string>

namespace exprun {

// The environment's LIBTORCH, else the folder that the build recorded beside the programs; empty
// if neither says.
std::string libtorch_folder();

}  // namespace exprun
