#include "support/fixtures.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace exprun {
namespace {

namespace fs = std::filesystem;

// Tests run in the root of the repository.
fs::path folder(const char* set) {
  return set && *set ? fs::path(set) : fs::path("../shared");
}

}  // namespace

std::optional<fs::path> fixture(const std::string& relative) {
  const char* set = std::getenv("EXPRUN_FIXTURES");
  const auto path = folder(set) / relative;
  if (fs::exists(path)) return path;
  if (set && *set)
    throw std::runtime_error("fixture " + path.string() + " is missing below EXPRUN_FIXTURES");
  std::cout << "SKIPPED: no fixture " << path.string() << std::endl;
  return std::nullopt;
}

std::optional<nlohmann::json> json_fixture(const std::string& relative) {
  const auto path = fixture(relative);
  if (!path) return std::nullopt;
  std::ifstream stream(*path);
  return nlohmann::json::parse(stream);
}

}  // namespace exprun
