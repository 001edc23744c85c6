#include "engine/device/numeric_environment.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "engine/device/device.h"

namespace exprun {
namespace {

// The text between `begin` and the next of `ends`, or "unknown".
std::string part(const std::string& text, const std::string& begin, const char* ends) {
  const size_t at = text.find(begin);
  if (at == std::string::npos) return "unknown";
  const size_t start = at + begin.size();
  return text.substr(start, text.find_first_of(ends, start) - start);
}

nlohmann::ordered_json to_json(const GpuFacts& gpu) {
  return {{"name", gpu.name},
          {"uuid", gpu.uuid},
          {"memory_bytes", gpu.memory_bytes},
          {"compute_capability", gpu.capability / 10.0},
          {"cuda", cuda_version()}};
}

}  // namespace

NumericEnvironment numeric_environment() {
  const std::string built = at::show_config();
  NumericEnvironment environment;
  environment.threads = at::get_num_threads();
  environment.instruction_set = at::get_cpu_capability();
  environment.libtorch = TORCH_VERSION;
  environment.blas = part(built, "BLAS_INFO=", ",\n ");
  environment.onednn = part(built, "MKL-DNN v", " \n");
  return environment;
}

std::string libraries_json(const NumericEnvironment& environment, at::Device device) {
  nlohmann::ordered_json json{
      {"libtorch", environment.libtorch},
      {"blas", environment.blas},
      {"mkl", part(at::show_config(), "Math Kernel Library Version ", "-\n")},
      {"onednn", environment.onednn},
      {"instruction_set", environment.instruction_set},
      {"threads", environment.threads},
      {"device", device.str()}};
  if (!device.is_cpu()) json["gpu"] = to_json(facts_of(device));
  json["config"] = at::show_config();
  return json_text(json);
}

namespace {

int threads_of_process = 0;

}  // namespace

void use_threads(int threads) {
  threads_of_process = threads;
  at::globalContext().setFlushDenormal(true);
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
}

int used_threads() {
  return threads_of_process ? threads_of_process : at::get_num_threads();
}

}  // namespace exprun
