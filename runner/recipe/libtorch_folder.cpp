#include "recipe/libtorch_folder.h"

#include <cstdlib>
#include <fstream>

#include "base/program.h"

namespace exprun {
namespace {

// Written by tools/cmake/libtorch.cmake.
constexpr const char* kRecord = "libtorch_folder";

std::string recorded_folder() {
  std::ifstream file(own_program().parent_path() / kRecord);
  std::string folder;
  std::getline(file, folder);
  return folder;
}

}  // namespace

std::string libtorch_folder() {
  const char* environment = std::getenv("LIBTORCH");
  return environment && *environment ? environment : recorded_folder();
}

}  // namespace exprun
