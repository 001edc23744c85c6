// One training step of a recorded run (tests/support/recorded_run.h), timed: what tools/bench/
// step_speed compares with PyTorch. Prints JSON; asserts nothing.
//
//   step_speed [STEPS]     default 150; EXPRUN_FIXTURES as for the tests
#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/device/autotune.h"
#include "engine/device/cpu_memory.h"
#include "engine/step.h"
#include "support/recorded_run.h"

using namespace exprun;

int main(int argc, char** argv) {
  const int64_t steps = argc > 1 ? std::atoll(argv[1]) : 150;
  const auto recorded = recorded_run();
  if (!recorded) return 1;
  keep_cpu_memory();  // as exprun does
  const ReplayedRun run(*recorded);
  TrainingStep step(run.pipeline, [] { return false; });
  nlohmann::json losses = nlohmann::json::array(), milliseconds = nlohmann::json::array();
  for (int64_t k = 0; k < steps; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    const auto result = step.run(k);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    losses.push_back(result.loss);
    milliseconds.push_back(took.count());
  }
  std::cout << nlohmann::json{{"instruction_set", at::get_cpu_capability()},
                              {"threads", at::get_num_threads()},
                              {"kernels", autotune::save()},
                              {"milliseconds", milliseconds},
                              {"losses", losses}}
            << std::endl;
  return 0;
}
