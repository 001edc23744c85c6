#include "recipe/paths.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/process/program.h"

namespace exprun {
namespace {

constexpr std::string_view kEnvironment = "env:";

std::string environment(const std::string& name) {
  const size_t colon = name.find(':');
  const std::string variable = name.substr(0, colon);
  if (const char* value = std::getenv(variable.c_str())) return value;
  if (colon != std::string::npos) return name.substr(colon + 1);
  throw Error("the environment variable " + variable +
              " is not set; set it, or write ${env:" + variable + ":default}");
}

std::string libtorch(const std::string& folder) {
  if (!folder.empty()) return folder;
  throw Error(
      "${libtorch} is unknown on this machine; set LIBTORCH to the folder that contains its "
      "lib/ and include/");
}

bool is_known(std::string_view name) {
  const bool variable = name.starts_with(kEnvironment) && name.size() > kEnvironment.size();
  return name == "libtorch" || variable;
}

std::string value_of(const std::string& name, const std::string& libtorch_folder) {
  if (name == "libtorch") return libtorch(libtorch_folder);
  return environment(name.substr(kEnvironment.size()));
}

// Written by tools/cmake/libtorch.cmake.
constexpr const char* kRecord = "libtorch_folder";

std::string recorded_folder() {
  std::ifstream file(own_program().parent_path() / kRecord);
  std::string folder;
  std::getline(file, folder);
  return folder;
}

// Python's torch where pip has installed this program with it (tools/wheel); may be empty.
std::string installed_folder() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const auto& python : fs::directory_iterator(own_program().parent_path() / "../lib", ignored))
    if (python.path().filename().string().starts_with("python3"))
      if (const fs::path torch = python.path() / "site-packages/torch"; path_exists(torch))
        return torch.lexically_normal().string();
  return "";
}

}  // namespace

std::optional<std::string> path_problem(const std::string& path) {
  for (size_t begin = path.find("${"); begin != std::string::npos;) {
    const size_t end = path.find('}', begin);
    if (end == std::string::npos) return "the closing '}' of '${' is missing";
    const std::string name = path.substr(begin + 2, end - begin - 2);
    if (!is_known(name)) return "unknown variable ${" + name + "}";
    begin = path.find("${", end);
  }
  return std::nullopt;
}

std::string expand_path(const std::string& path, const std::string& libtorch_folder) {
  if (const auto problem = path_problem(path)) throw Error(*problem);
  std::string expanded;
  for (size_t at = 0;;) {
    const size_t begin = path.find("${", at);
    expanded += path.substr(at, begin - at);
    if (begin == std::string::npos) return expanded;
    const size_t end = path.find('}', begin);
    expanded += value_of(path.substr(begin + 2, end - begin - 2), libtorch_folder);
    at = end + 1;
  }
}

std::string libtorch_folder() {
  const char* environment = std::getenv("LIBTORCH");
  if (environment && *environment) return environment;
  const std::string recorded = recorded_folder();
  return recorded.empty() ? installed_folder() : recorded;
}

}  // namespace exprun
