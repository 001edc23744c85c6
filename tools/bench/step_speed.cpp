// Training steps of a recipe on raw tokens, timed when asked to: our side of
// tools/bench/training.py, which speaks with gpt_torch.py in the same way. Asserts nothing.
//
//   step_speed RECIPE TOKENS WEIGHTS     WEIGHTS: is written, for the other side to begin with
//
// Each line of standard input is answered by a line of JSON:
//   steps N       N more training steps
//   gemm M K N    the speed of a product of fp32 matrices, in FLOP/s
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/diagnostic.h"
#include "engine/autotune/autotune.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/device/cpu_memory.h"
#include "engine/step.h"
#include "kernels/linear.h"
#include "recipe/recipe_text.h"

using namespace exprun;
using nlohmann::json;

namespace {

template <typename Body>
double milliseconds(Body&& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

// Resident memory now ("VmRSS") or at most since forget_peak() ("VmHWM").
int64_t resident_bytes(const std::string& which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(which + ":")) return 1024 * std::stoll(line.substr(which.size() + 1));
  return 0;
}

void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

class Contestant {
 public:
  Contestant(const std::string& recipe, const std::string& tokens, const std::string& weights)
      : recipe_(resolve(read_recipe(recipe, {}))),
        data_{.fingerprint = "bench",
              .tokenizer = nullptr,
              .vocab_size = std::nullopt,
              .described_vocab_size = std::nullopt,
              .train = {inspect_shard(tokens, ShardFormat::raw_uint16)},
              .validation = {},
              .train_segments = {},
              .validation_segments = {},
              .store = "",
              .made_from = nullptr},
        bytes_before_(resident_bytes("VmRSS")),
        pipeline_(build_pipeline(recipe_, data_)),
        step_(pipeline_, [] { return false; }) {
    std::vector<NamedTensor> start;
    for (const Parameter& parameter : pipeline_.train_state.parameters->items())
      start.push_back({parameter.name, parameter.tensor.detach()});
    write_safetensors(weights, start);
  }

  json run(int64_t steps) {
    forget_peak();
    json losses = json::array(), times = json::array();
    for (int64_t end = next_ + steps; next_ < end; ++next_) {
      StepResult result;
      times.push_back(milliseconds([&] { result = step_.run(next_); }));
      losses.push_back(result.loss);
    }
    return {{"milliseconds", times},
            {"losses", losses},
            {"peak_bytes", resident_bytes("VmHWM") - bytes_before_},
            {"kernels", autotune::save()}};
  }

 private:
  ResolvedRecipe recipe_;
  PreparedData data_;
  int64_t bytes_before_;  // of the libraries
  Pipeline pipeline_;
  TrainingStep step_;
  int64_t next_ = 0;
};

json gemm(int64_t m, int64_t k, int64_t n) {
  const at::NoGradGuard no_grad;
  const auto x = at::randn({m, k}), weight = at::randn({n, k});
  linear_forward(x, weight, {});  // chooses the way
  double best = 1e9;
  for (int i = 0; i < 10; ++i)
    best = std::min(best, milliseconds([&] { linear_forward(x, weight, {}); }));
  return {{"flops", 2e3 * static_cast<double>(m * k * n) / best}};
}

json answer(Contestant& contestant, const std::string& request) {
  std::istringstream words(request);
  std::string word;
  int64_t m = 0, k = 0, n = 0;
  words >> word >> m >> k >> n;
  return word == "gemm" ? gemm(m, k, n) : contestant.run(m);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) return 2;
  keep_cpu_memory();  // as exprun does
  Contestant contestant(argv[1], argv[2], argv[3]);
  std::cout << json{{"instruction_set", at::get_cpu_capability()},
                    {"threads", at::get_num_threads()}}
            << std::endl;
  for (std::string request; std::getline(std::cin, request);)
    std::cout << answer(contestant, request) << std::endl;
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
