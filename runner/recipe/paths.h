// What may stand in the paths of a recipe: ${env:NAME}, ${env:NAME:default} and ${libtorch}.
#pragma once

#include <optional>
#include <string>

namespace exprun {

// The path with each of them replaced. Throws Error, to be shown at the path: a variable that is
// not set, a LibTorch that was not found (`libtorch_folder` is empty), any other ${...}.
std::string expand_path(const std::string& path, const std::string& libtorch_folder);

// What is wrong with the way a path is written ("${home} is unknown"), on any machine.
std::optional<std::string> path_problem(const std::string& path);

// Where LibTorch lies, for ${libtorch}: the environment's LIBTORCH, else the folder that the build
// recorded beside the programs, else Python's torch that pip has installed with them; may be empty.
std::string libtorch_folder();

}  // namespace exprun
