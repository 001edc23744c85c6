#include "engine/machine.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace exprun {
namespace {

// The text between `begin` and the next of `ends`, or "unknown".
std::string part(const std::string& text, const std::string& begin, const char* ends) {
  const size_t at = text.find(begin);
  if (at == std::string::npos) return "unknown";
  const size_t start = at + begin.size();
  return text.substr(start, text.find_first_of(ends, start) - start);
}

}  // namespace

Machine this_machine() {
  const std::string built = at::show_config();
  Machine machine;
  machine.threads = at::get_num_threads();
  machine.instruction_set = at::get_cpu_capability();
  machine.libtorch = TORCH_VERSION;
  machine.blas = part(built, "BLAS_INFO=", ",\n ");
  machine.onednn = part(built, "MKL-DNN v", " \n");
  return machine;
}

std::string libraries_json(const Machine& machine) {
  return json_text(nlohmann::ordered_json{
      {"libtorch", machine.libtorch},
      {"blas", machine.blas},
      {"mkl", part(at::show_config(), "Math Kernel Library Version ", "-\n")},
      {"onednn", machine.onednn},
      {"instruction_set", machine.instruction_set},
      {"threads", machine.threads},
      {"config", at::show_config()}});
}

void use_threads(int threads) {
  at::globalContext().setFlushDenormal(true);
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
}

}  // namespace exprun
