// The file <run folder>/kernels.json: which kernels this run computes with, in every attempt.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace exprun {

class KernelFile {
 public:
  // Takes over the choices in the file, if there is one. Throws Error.
  explicit KernelFile(std::filesystem::path file);

  // Makes choices durable that were made since; before anything computed with them is recorded.
  // The first time it throws Error; later a failure is a warning, for training goes on.
  void keep();

 private:
  void write(const nlohmann::json& choices);

  std::filesystem::path file_;
  nlohmann::json kept_;
};

}  // namespace exprun
