// Milliseconds of each kernel that has two ways, ours and ATen's, forward and backward together, at
// the shapes of small and large models. Prints a table; asserts nothing.
//
//   kernel_speed [SECONDS]     default 0.5 for each; ATEN_CPU_CAPABILITY=avx2 limits both
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/cpu_memory.h"
#include "kernels/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/instruction_set.h"
#include "kernels/layer_norm.h"
#include "kernels/rms_norm.h"
#include "kernels/rotation.h"

using namespace exprun;

namespace {

using Clock = std::chrono::steady_clock;
using Tensors = std::vector<at::Tensor>;
using Function = std::function<at::Tensor(const Tensors&)>;

double seconds_each = 0.5;

struct Pair {
  double ours, aten;
};

double milliseconds(const std::function<void()>& run) {
  const auto begin = Clock::now();
  run();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// The median of each, in alternation.
Pair measure(const std::function<void()>& ours, const std::function<void()>& aten) {
  std::vector<double> of_ours, of_aten;
  ours();
  aten();
  const auto begin = Clock::now();
  while (of_ours.size() < 5 || Clock::now() - begin < std::chrono::duration<double>(seconds_each)) {
    of_ours.push_back(milliseconds(ours));
    of_aten.push_back(milliseconds(aten));
  }
  const auto median = [](std::vector<double> all) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                     all.end());
    return all[all.size() / 2];
  };
  return {median(of_ours), median(of_aten)};
}

void print(const std::string& what, Pair times) {
  std::printf("%-44s %10.3f %10.3f %7.2f\n", what.c_str(), times.ours, times.aten,
              times.ours / times.aten);
  std::fflush(stdout);
}

void compare(const std::string& what, const Tensors& inputs, const Function& ours,
             const Function& aten) {
  const auto forward_and_backward = [&](const Function& function) {
    return [&] {
      Tensors leaves;
      for (const auto& input : inputs) leaves.push_back(input.detach().set_requires_grad(true));
      const auto value = function(leaves);
      value.backward(value.detach());
    };
  };
  print(what, measure(forward_and_backward(ours), forward_and_backward(aten)));
}

void compare_attention(int64_t batch, int64_t length, int64_t heads, int64_t key_heads,
                       int64_t width) {
  const auto part = [&](int64_t count) { return at::randn({batch, length, count, width}); };
  compare(
      "attention B" + std::to_string(batch) + " T" + std::to_string(length) + " H" +
          std::to_string(heads) + "/" + std::to_string(key_heads) + " D" + std::to_string(width),
      {part(heads), part(key_heads), part(key_heads)},
      [](const Tensors& in) { return causal_attention_ours(in[0], in[1], in[2]); },
      [](const Tensors& in) { return causal_attention_aten(in[0], in[1], in[2], 0); });
}

void compare_rows(int64_t rows, int64_t width) {
  const std::string shape = " " + std::to_string(rows) + "x" + std::to_string(width);
  const auto x = at::randn({rows, width}), weight = at::randn({width}), bias = at::randn({width});
  compare(
      "layer_norm" + shape, {x, weight, bias},
      [](const Tensors& in) { return layer_norm_ours(in[0], in[1], in[2], 1e-5); },
      [](const Tensors& in) { return layer_norm_aten(in[0], in[1], in[2], 1e-5); });
  compare(
      "rms_norm" + shape, {x, weight},
      [](const Tensors& in) { return rms_norm_ours(in[0], in[1], 0, 1e-5); },
      [](const Tensors& in) { return rms_norm_fused(in[0], in[1], 0, 1e-5); });
  for (const auto& [name, form] :
       {std::pair{"gelu", ActivationForm::gelu}, std::pair{"gelu_tanh", ActivationForm::gelu_tanh},
        std::pair{"relu_squared", ActivationForm::relu_squared}})
    compare(
        name + shape, {x},
        [form = form](const Tensors& in) { return activation_ours(in[0], form); },
        [form = form](const Tensors& in) { return activation_aten(in[0], form); });
  compare(
      "swiglu" + shape, {x, at::randn({rows, width})},
      [](const Tensors& in) { return swiglu_ours(in[0], in[1]); },
      [](const Tensors& in) { return swiglu_aten(in[0], in[1]); });
}

void compare_rotation(int64_t batch, int64_t length, int64_t heads, int64_t width) {
  const auto angles = at::randn({1, length, 1, width / 2});
  const auto cosine = angles.cos(), sine = angles.sin();
  for (const auto& [name, pairs] : {std::pair{"rotate halves", ChannelPairs::halves},
                                    std::pair{"rotate neighbours", ChannelPairs::neighbours}})
    compare(
        name + (" B" + std::to_string(batch)) + " T" + std::to_string(length) + " H" +
            std::to_string(heads) + " D" + std::to_string(width),
        {at::randn({batch, length, heads, width})},
        [&, pairs = pairs](const Tensors& in) { return rotate_ours(in[0], cosine, sine, pairs); },
        [&, pairs = pairs](const Tensors& in) { return rotate_aten(in[0], cosine, sine, pairs); });
}

void compare_cross_entropy(int64_t rows, int64_t vocabulary) {
  const auto start = at::randn({rows, vocabulary});
  const auto targets = at::randint(vocabulary, {rows}, at::kLong);
  auto logits = start.clone();
  const auto run = [&](auto kernel) {
    return [&, kernel] {
      logits.copy_(start);
      kernel(logits, targets, vocabulary, 1);
    };
  };
  print("cross_entropy " + std::to_string(rows) + "x" + std::to_string(vocabulary),
        measure(run(cross_entropy_in_place_ours), run(cross_entropy_in_place_by_operators)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) seconds_each = std::atof(argv[1]);
  keep_cpu_memory();
  std::printf("ATen %s, ours %s, %d threads\n", at::get_cpu_capability().c_str(),
              usable_instruction_sets().front().c_str(), at::get_num_threads());
  std::printf("%-44s %10s %10s %7s\n", "", "ours (ms)", "ATen (ms)", "ratio");
  compare_attention(12, 64, 4, 4, 32);
  for (const int64_t length : {256, 1024, 2048, 4096})
    compare_attention(4096 / length, length, 12, 12, 64);
  compare_attention(4, 512, 16, 4, 64);
  compare_attention(2, 1024, 8, 2, 128);
  compare_attention(1, 1024, 6, 6, 128);
  compare_attention(1, 4096, 1, 1, 64);
  compare_attention(32, 16, 4, 4, 16);
  compare_rows(768, 128);
  compare_rows(1024, 768);
  compare_rows(1024, 3072);
  compare_rotation(4, 512, 16, 64);
  compare_cross_entropy(768, 65);
  compare_cross_entropy(320, 50304);
  return 0;
}
