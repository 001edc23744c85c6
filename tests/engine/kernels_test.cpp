// Every fast kernel against the plain ATen reference beside it.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/all.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/autotune/autotune.h"
#include "engine/model.h"
#include "kernels/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/decoding_attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/instruction_set.h"
#include "kernels/layer_norm.h"
#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "kernels/rotation.h"
#include "layers/head.h"
#include "tests/support/guarded_memory.h"

using namespace exprun;

namespace {

double largest(const at::Tensor& difference) {
  return difference.abs().max().item<double>();
}

at::Tensor leaf(const at::Tensor& values) {
  return values.clone().set_requires_grad(true);
}

struct Result {
  at::Tensor value;
  std::vector<at::Tensor> gradients;
};

// The value, and the gradients of the inputs for a random gradient of the value.
template <class Function>
Result differentiate(Function function, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> leaves;
  for (const auto& input : inputs) leaves.push_back(leaf(input));
  const auto value = function(leaves);
  value.backward(
      at::linspace(-1, 1, value.numel(), value.options().requires_grad(false)).view(value.sizes()));
  Result result{value.detach(), {}};
  for (const auto& input : leaves) result.gradients.push_back(input.grad());
  return result;
}

// Measures, whatever the test before it fixed.
struct FreshChoices {
  FreshChoices() { autotune::reset(); }
  ~FreshChoices() { autotune::reset(); }
};

// Runs a test of our kernels with every instruction set that this processor has.
template <class Test>
void with_each_instruction_set(Test test) {
  for (const auto& name : usable_instruction_sets()) {
    CAPTURE(name);
    const GuardedMemory guarded;
    use_instruction_set(name);
    test();
  }
  use_instruction_set("");
}

}  // namespace

TEST_CASE("kernels: gelu agrees with a double reference, value and slope") {
  const auto x = at::linspace(-12, 12, 100003);
  with_each_instruction_set([&] {
    for (const auto form : {ActivationForm::gelu, ActivationForm::gelu_tanh}) {
      const auto fast = leaf(x), exact = leaf(x.to(at::kDouble));
      const auto value = activation_ours(fast, form), reference = activation_aten(exact, form);
      value.sum().backward();
      reference.sum().backward();
      const auto scale = x.abs().clamp_min(1);
      CHECK(largest((value.detach() - reference.detach()) / scale) < 1.5e-7);
      CHECK(largest(fast.grad() - exact.grad()) < (form == ActivationForm::gelu ? 5e-7 : 3e-6));
    }
  });
}

TEST_CASE("kernels: gelu handles tails, views and extremes") {
  const auto x = at::randn({37, 5}).t();
  const auto extreme = at::linspace(-1e4, 1e4, 5);
  with_each_instruction_set([&] {
    CHECK(at::allclose(activation_ours(x, ActivationForm::gelu),
                       activation_aten(x, ActivationForm::gelu), 1e-5, 1e-6));
    for (const auto form : {ActivationForm::gelu, ActivationForm::gelu_tanh}) {
      const auto value = activation_ours(extreme, form);
      CHECK(std::abs(value[0].item<float>()) < 1e-30);
      CHECK(value[2].item<float>() == 0);
      CHECK(value[4].item<float>() == 1e4f);
    }
  });
}

TEST_CASE("kernels: relu squared and swiglu agree with a double reference") {
  for (const int64_t size : {1, 7, 16, 1003}) {
    const auto gate = at::randn({size}).mul(4), up = at::randn({size});
    const auto relu = differentiate(
        [](const auto& in) { return activation_aten(in[0], ActivationForm::relu_squared); },
        {gate.to(at::kDouble)});
    const auto gated = differentiate([](const auto& in) { return swiglu_aten(in[0], in[1]); },
                                     {gate.to(at::kDouble), up.to(at::kDouble)});
    with_each_instruction_set([&] {
      const auto ours = differentiate(
          [](const auto& in) { return activation_ours(in[0], ActivationForm::relu_squared); },
          {gate});
      CHECK(largest(ours.value - relu.value) < 1e-5);
      CHECK(largest(ours.gradients[0] - relu.gradients[0]) < 1e-5);
      const auto ours_gated =
          differentiate([](const auto& in) { return swiglu_ours(in[0], in[1]); }, {gate, up});
      CHECK(largest(ours_gated.value - gated.value) < 1e-5);
      for (size_t i = 0; i < 2; ++i)
        CHECK(largest(ours_gated.gradients[i] - gated.gradients[i]) < 1e-5);
    });
  }
}

TEST_CASE("kernels: rotation agrees with ATen's operators, forward and back, also of a slice") {
  for (const int64_t width : {2, 6, 16, 64}) {
    CAPTURE(width);
    const auto slice = at::randn({2, 9, 4, width}).narrow(2, 1, 3);
    const auto angles = at::randn({1, 9, 1, width / 2});
    for (const auto format : {at::kFloat, at::kBFloat16})
      for (const auto pairs : {ChannelPairs::halves, ChannelPairs::neighbours}) {
        const auto cosine = angles.cos().to(format), sine = angles.sin().to(format);
        const auto expected = differentiate(
            [&](const auto& in) { return rotate_aten(in[0], cosine, sine, pairs); }, {slice});
        with_each_instruction_set([&] {
          const auto ours = differentiate(
              [&](const auto& in) { return rotate_ours(in[0], cosine, sine, pairs); }, {slice});
          CHECK(largest(ours.value - expected.value) < 1e-6);
          CHECK(largest(ours.gradients[0] - expected.gradients[0]) < 1e-6);
          CHECK(at::equal(rotate_ours(slice, cosine, sine, pairs), ours.value));
        });
      }
  }
}

TEST_CASE("kernels: linear agrees with ATen's, forward and gradients, with and without bias") {
  const FreshChoices fresh;
  const auto x = at::randn({3, 10, 24}), weight = at::randn({17, 24}), bias = at::randn({17});
  const auto ours =
      differentiate([](const auto& in) { return linear(in[0], in[1], in[2]); }, {x, weight, bias});
  const auto reference = differentiate(
      [](const auto& in) { return linear_aten(in[0], in[1], in[2]); }, {x, weight, bias});
  CHECK(ours.value.sizes() == at::IntArrayRef({3, 10, 17}));
  CHECK(at::allclose(ours.value, reference.value, 1e-5, 1e-5));
  for (size_t i = 0; i < 3; ++i)
    CHECK(at::allclose(ours.gradients[i], reference.gradients[i], 1e-5, 1e-5));
  CHECK(at::allclose(exprun::linear(x, weight), linear_aten(x, weight, {}), 1e-5, 1e-5));
}

TEST_CASE("kernels: the gradient of a weight that is multiplied in bf16 is added where it lies") {
  const FreshChoices fresh;
  const auto x = at::randn({30, 24}).to(at::kBFloat16), known = at::randn({17, 24});
  const auto product = linear_weight_gradient(at::ones({30, 17}, x.options()), x);
  with_each_instruction_set([&] {
    const auto weight = leaf(at::randn({17, 24}));
    weight.mutable_grad() = known.clone();
    const auto* const place = weight.grad().const_data_ptr();
    exprun::linear(x, weight).sum().backward();
    CHECK(weight.grad().const_data_ptr() == place);
    CHECK(at::equal(weight.grad(), known + product));
  });
}

TEST_CASE("kernels: one row through a linear layer is what a double product gives") {
  with_each_instruction_set([] {
    for (const int64_t in : {1, 5, 8, 64, 771})
      for (const int64_t out : {1, 3, 4, 6, 333}) {
        const auto x = at::randn({1, in}), weight = at::randn({out, in}), bias = at::randn({out});
        const auto product = x.to(at::kDouble).mm(weight.t().to(at::kDouble));
        CHECK(largest(row_product(x, weight, {}) - product) < 1e-4);
        CHECK(largest(row_product(x, weight, bias) - product - bias) < 1e-4);
      }
  });
}

TEST_CASE("kernels: one row in bf16 is the product of its values, rounded once") {
  with_each_instruction_set([] {
    for (const int64_t in : {1, 5, 8, 64, 771})
      for (const int64_t out : {1, 3, 4, 6, 333}) {
        const auto x = at::randn({1, in}).to(at::kBFloat16);
        const auto weight = at::randn({out, in}).to(at::kBFloat16);
        const auto bias = at::randn({out}).to(at::kBFloat16);
        const auto exact = x.to(at::kDouble).mm(weight.t().to(at::kDouble)) + bias;
        const auto product = row_product(x, weight, bias);
        CHECK((product.scalar_type() == at::kBFloat16));
        // Half a unit in the last of bf16's 8 digits, and the sum in fp32.
        CHECK(at::all((product - exact).abs() <= 0x1p-8 * exact.abs() + 1e-5).item<bool>());
      }
  });
}

TEST_CASE("kernels: attention of one position is what doubles give, heads shared and cut or not") {
  with_each_instruction_set([] {
    for (const auto format : {at::kFloat, at::kBFloat16})
      for (const int64_t size : {1, 8, 64, 80})
        for (const int64_t seen : {1, 3, 16, 133})
          for (const int64_t shared : {1, 3}) {
            const auto query = at::randn({2, 1, 6, size}).to(format);
            const auto room = at::randn({2, 2, 6 / shared, 200, size}).to(format);
            const auto key = room[0].narrow(2, 20, seen), value = room[1].narrow(2, 20, seen);
            const auto exact = decoding_attention_aten(query.to(at::kDouble), key.to(at::kDouble),
                                                       value.to(at::kDouble));
            const auto ours = decoding_attention_ours(query, key, value);
            REQUIRE(ours.sizes() == exact.sizes());
            CHECK((ours.scalar_type() == format));
            const double rounding = format == at::kFloat ? 0 : 0x1p-8;
            CHECK(at::all((ours - exact).abs() <= rounding * exact.abs() + 1e-5).item<bool>());
            const auto scattered = key.transpose(2, 3).contiguous().transpose(2, 3);
            CHECK(at::allclose(decoding_attention(query, scattered, value), ours, 1e-2, 1e-2));
            key[0][0][0][0] = std::nan("");
            CHECK(std::isnan(decoding_attention_ours(query, key, value)[0][0][0].item<float>()));
          }
  });
}

TEST_CASE("kernels: attention of one position to scores in the billions is that to the largest") {
  with_each_instruction_set([] {
    for (int i = 0; i < 20; ++i) {
      const auto query = at::randn({1, 1, 2, 32}) * 1e5, key = at::randn({1, 2, 40, 32}) * 1e5;
      const auto value = at::randn({1, 2, 40, 32});
      const auto exact = decoding_attention_aten(query.to(at::kDouble), key.to(at::kDouble),
                                                 value.to(at::kDouble));
      CHECK(largest(decoding_attention_ours(query, key, value) - exact) < 1e-6);
    }
  });
}

TEST_CASE("kernels: both backends compute the same product in full fp32") {
  const auto x = at::randn({96, 64}), weight = at::randn({80, 64}), gradient = at::randn({96, 80});
  const auto wide = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
  for (const char* backend : {"aten", "onednn"}) {
    autotune::load({{"forward 128x64x80", backend},
                    {"input_gradient 128x64x80", backend},
                    {"weight_gradient 128x64x80", backend}});
    CHECK(largest(linear_forward(x, weight, {}) - wide(x).mm(wide(weight).t())) < 2e-5);
    CHECK(largest(linear_input_gradient(gradient, weight) - wide(gradient).mm(wide(weight))) <
          2e-5);
    CHECK(largest(linear_weight_gradient(gradient, x) - wide(gradient).t().mm(wide(x))) < 3e-5);
  }
}

TEST_CASE("kernels: products of bf16 are those of the widened factors, rounded, in either way") {
  const FreshChoices fresh;
  const auto narrow = [](at::IntArrayRef sizes) { return at::randn(sizes).to(at::kBFloat16); };
  const auto x = narrow({96, 64}), weight = narrow({80, 64}), bias = narrow({80}),
             gradient = narrow({96, 80}), left = narrow({2, 5, 64}), right = narrow({2, 64, 7});
  const auto wide = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
  const auto off = [](const at::Tensor& ours, const at::Tensor& exact) {
    CHECK((ours.scalar_type() == at::kBFloat16));
    return largest((ours - exact) / exact.abs().clamp_min(1));
  };
  for (const char* way : {"aten", "fp32"}) {
    CAPTURE(way);
    autotune::load({{"forward_bf16 128x64x80", way},
                    {"input_gradient_bf16 128x64x80", way},
                    {"weight_gradient_bf16 128x64x80", way},
                    {"batched_product_bf16 2x5x64x7", way}});
    CHECK(off(linear_forward(x, weight, bias), wide(x).mm(wide(weight).t()) + wide(bias)) < 0x1p-8);
    CHECK(off(linear_input_gradient(gradient, weight), wide(gradient).mm(wide(weight))) < 0x1p-8);
    CHECK(off(linear_weight_gradient(gradient, x), wide(gradient).t().mm(wide(x))) < 0x1p-8);
    CHECK(off(batched_product(left, right), wide(left).bmm(wide(right))) < 0x1p-8);
  }
}

TEST_CASE("kernels: attention and activations of bf16 are those of fp32, rounded") {
  const auto x = at::randn({2, 37, 3 * 32}).to(at::kBFloat16);
  const auto narrow = [](const at::Tensor& tensor) { return tensor.to(at::kBFloat16); };
  const auto same = [&](const auto& function, std::vector<at::Tensor> inputs) {
    const auto ours = differentiate(function, inputs);
    for (auto& input : inputs) input = input.to(at::kFloat);
    // The gradient of the value is rounded to bf16 on its way.
    const auto expected =
        differentiate([&](const auto& in) { return narrow(function(in)); }, inputs);
    CHECK((ours.value.scalar_type() == at::kBFloat16));
    CHECK(at::equal(ours.value, expected.value));
    for (size_t i = 0; i < inputs.size(); ++i)
      CHECK(at::equal(ours.gradients[i], narrow(expected.gradients[i])));
  };
  same([](const auto& in) { return causal_attention_ours(in[0], 2); }, {x});
  same([](const auto& in) { return activation_ours(in[0], ActivationForm::gelu); }, {x});
  same([](const auto& in) { return swiglu_ours(in[0], in[1]); }, {x, x.flip(0)});
}

TEST_CASE("kernels: attention agrees with a double reference at every shape of a head") {
  // Beside the edges of vectors and tiles: lengths that backward cuts into several blocks.
  const int64_t shapes[][4] = {{2, 16, 2, 16},  {3, 64, 4, 32},  {1, 1, 1, 8},
                               {2, 5, 3, 4},    {1, 33, 2, 24},  {1, 17, 1, 80},
                               {2, 100, 2, 64}, {1, 250, 1, 12}, {1, 700, 1, 4}};
  with_each_instruction_set([&] {
    for (const auto [batch, length, heads, width] : shapes) {
      CAPTURE(length);
      CAPTURE(width);
      const auto x = at::randn({batch, length, 3 * heads * width});
      const auto ours =
          differentiate([&](const auto& in) { return causal_attention_ours(in[0], heads); }, {x});
      const auto reference =
          differentiate([&](const auto& in) { return causal_attention_aten(in[0], heads, 0); },
                        {x.to(at::kDouble)});
      CHECK(largest(ours.value - reference.value) < 2e-6);
      CHECK(largest(ours.gradients[0] - reference.gradients[0]) < 1e-5);
    }
  });
}

TEST_CASE("kernels: attention of separate tensors agrees, also where heads share keys and values") {
  const int64_t shapes[][5] = {{2, 16, 2, 2, 16}, {1, 1, 1, 1, 3}, {2, 5, 3, 3, 7},
                               {1, 37, 2, 2, 20}, {2, 9, 6, 2, 8}, {1, 130, 4, 1, 16},
                               {2, 300, 4, 2, 5}};
  with_each_instruction_set([&] {
    for (const auto [batch, length, heads, key_heads, width] : shapes) {
      CAPTURE(length);
      CAPTURE(width);
      const std::vector<at::Tensor> parts = {at::randn({batch, length, heads, width}),
                                             at::randn({batch, length, key_heads, width}),
                                             at::randn({batch, length, key_heads, width})};
      const auto ours = differentiate(
          [](const auto& in) { return causal_attention_ours(in[0], in[1], in[2]); }, parts);
      const auto reference = differentiate(
          [](const auto& in) { return causal_attention_aten(in[0], in[1], in[2], 0); },
          {parts[0].to(at::kDouble), parts[1].to(at::kDouble), parts[2].to(at::kDouble)});
      CHECK(ours.value.sizes() == at::IntArrayRef({batch, length, heads * width}));
      CHECK(largest(ours.value - reference.value) < 2e-6);
      for (size_t i = 0; i < 3; ++i)
        CHECK(largest(ours.gradients[i] - reference.gradients[i]) < 2e-5);
    }
  });
}

// A longer one may need less scratch than a shorter one: 240 tokens of heads of 16, and 241.
TEST_CASE("kernels: attention of documents is that of each by itself, and stays in its memory") {
  const int64_t shapes[][3] = {{240, 241, 16}, {432, 433, 64}, {656, 657, 128}, {1, 7, 4}};
  with_each_instruction_set([&] {
    for (const auto [first, second, width] : shapes) {
      CAPTURE(first);
      const std::vector<int64_t> lengths = {first, second, 3};
      const int64_t all = first + second + 3;
      const auto bounds = at::tensor({int64_t{0}, first, first + second, all}, at::kInt);
      const auto part = [&] { return at::randn({1, all, 2, width}); };
      const std::vector<at::Tensor> parts = {part(), part(), part()};
      const auto together = differentiate(
          [&](const auto& in) {
            return document_attention(in[0], in[1], in[2], lengths, bounds, 0, 0);
          },
          parts);
      const auto alone = differentiate(
          [&](const auto& in) {
            std::vector<at::Tensor> values;
            int64_t begin = 0;
            for (const int64_t length : lengths) {
              const auto own = [&](size_t i) { return in[i].narrow(1, begin, length); };
              values.push_back(causal_attention_ours(own(0), own(1), own(2)));
              begin += length;
            }
            return at::cat(values, 1);
          },
          parts);
      CHECK(at::equal(together.value, alone.value));
      for (size_t i = 0; i < 3; ++i) CHECK(at::equal(together.gradients[i], alone.gradients[i]));
    }
  });
}

TEST_CASE("kernels: attention of one product agrees where heads share keys and values") {
  with_each_instruction_set([&] {
    const auto x = at::randn({2, 33, (6 + 2 * 2) * 8});
    const auto ours = differentiate(
        [](const auto& in) {
          return causal_attention_ours(in[0], {6, 2});
        },
        {x});
    const auto reference = differentiate(
        [](const auto& in) {
          return causal_attention_aten(in[0], {6, 2}, 0);
        },
        {x.to(at::kDouble)});
    CHECK(ours.value.sizes() == at::IntArrayRef({2, 33, 6 * 8}));
    CHECK(largest(ours.value - reference.value) < 2e-6);
    CHECK(largest(ours.gradients[0] - reference.gradients[0]) < 2e-5);
  });
}

TEST_CASE("kernels: attention reads queries, keys and values that lie apart from each other") {
  const auto all = at::randn({2, 11, 5, 8});  // 3 heads of queries, one of keys, one of values
  const auto part = [&](int64_t first, int64_t count) { return all.narrow(2, first, count); };
  const auto transposed = [](const at::Tensor& x) {
    return x.transpose(1, 2).contiguous().transpose(1, 2);
  };
  const auto ours = causal_attention_ours(part(0, 3), part(3, 1), part(4, 1));
  CHECK(at::equal(ours, causal_attention_ours(part(0, 3).contiguous(), part(3, 1).contiguous(),
                                              part(4, 1).contiguous())));
  CHECK(at::equal(ours, causal_attention_ours(transposed(part(0, 3)), transposed(part(3, 1)),
                                              transposed(part(4, 1)))));
}

TEST_CASE("kernels: attention survives extreme scores, and does not look behind them") {
  auto x = at::randn({1, 20, 3 * 16});
  x.narrow(2, 0, 32).mul_(1e4);
  auto changed = x.clone();
  changed.narrow(1, 12, 8).fill_(1e30);
  with_each_instruction_set([&] {
    const auto run = [](const at::Tensor& input) {
      return differentiate([](const auto& in) { return causal_attention_ours(in[0], 1); }, {input});
    };
    const auto before = run(x);
    CHECK(before.value.isfinite().all().item<bool>());
    CHECK(before.gradients[0].isfinite().all().item<bool>());
    CHECK(at::equal(run(changed).value.narrow(1, 0, 12), before.value.narrow(1, 0, 12)));
  });
}

TEST_CASE("kernels: a NaN comes out of every kernel, wherever it goes in") {
  const auto with_nan = [](at::IntArrayRef sizes, int64_t at) {
    auto x = at::randn(sizes);
    x.view({-1})[at] = std::nan("");
    return x;
  };
  const auto spoilt = [](const at::Tensor& x) { return x.isnan().any().item<bool>(); };
  with_each_instruction_set([&] {
    for (const int64_t at : {0, 5, 20}) {
      CAPTURE(at);
      for (const auto form :
           {ActivationForm::gelu, ActivationForm::gelu_tanh, ActivationForm::relu_squared})
        CHECK(spoilt(activation_ours(with_nan({21}, at), form)));
      CHECK(spoilt(swiglu_ours(with_nan({21}, at), at::randn({21}))));
      CHECK(spoilt(layer_norm_ours(with_nan({1, 21}, at), at::randn({21}), {}, 1e-5)));
      CHECK(spoilt(rms_norm_ours(with_nan({1, 21}, at), {}, 0, 1e-5)));
      auto logits = with_nan({1, 21}, at);
      CHECK(std::isnan(
          cross_entropy_in_place_ours(logits, at::ones({1}, at::kLong), 21, 1).item<double>()));
    }
    for (const int64_t part : {0, 1, 2}) {  // of queries, keys and values
      auto x = at::randn({1, 30, 3 * 8});
      x[0][3][part * 8] = std::nan("");
      CHECK(spoilt(causal_attention_ours(x, 1)));
    }
  });
}

TEST_CASE("kernels: attention with dropout drops weights") {
  const auto x = at::randn({2, 8, 3 * 16});
  CHECK_FALSE(at::equal(causal_attention(x, 2, 0.5), causal_attention(x, 2, 0.5)));
}

TEST_CASE("kernels: layer norm agrees with a double reference, with and without bias") {
  for (const int64_t width : {1, 7, 16, 40, 128}) {
    CAPTURE(width);
    const auto x = at::randn({3, 50, width}).mul(3).add(100), weight = at::randn({width}),
               bias = at::randn({width});
    const auto with_bias = [](const auto& in) {
      return layer_norm_ours(in[0], in[1], in[2], 1e-5);
    };
    const auto reference =
        differentiate([](const auto& in) { return layer_norm_aten(in[0], in[1], in[2], 1e-5); },
                      {x.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble)});
    with_each_instruction_set([&] {
      const auto ours = differentiate(with_bias, {x, weight, bias});
      CHECK(largest(ours.value - reference.value) < 5e-5);
      for (size_t i = 0; i < 3; ++i)
        CHECK(largest(ours.gradients[i] - reference.gradients[i]) < 5e-4);
      CHECK(at::allclose(layer_norm_ours(x, weight, {}, 1e-5), ours.value.sub(bias), 1e-4, 1e-4));
    });
  }
}

TEST_CASE("kernels: rms norm agrees with a double reference, with and without weight") {
  for (const int64_t width : {1, 7, 16, 40, 129}) {
    for (const double offset : {0.0, 1.0}) {
      CAPTURE(width);
      const auto x = at::randn({3, 50, width}).mul(3).add(1), weight = at::randn({width});
      const auto fast = [&](const auto& in) { return rms_norm_ours(in[0], in[1], offset, 1e-6); };
      const auto plain = [&](const auto& in) { return rms_norm_aten(in[0], in[1], offset, 1e-6); };
      const auto reference = differentiate(plain, {x.to(at::kDouble), weight.to(at::kDouble)});
      with_each_instruction_set([&] {
        const auto ours = differentiate(fast, {x, weight});
        CHECK(largest(ours.value - reference.value) < 5e-6);
        for (size_t i = 0; i < 2; ++i)
          CHECK(largest(ours.gradients[i] - reference.gradients[i]) < 5e-5);
      });
    }
    const auto x = at::randn({20, width});
    const auto expected = differentiate(
        [](const auto& in) { return rms_norm_aten(in[0], {}, 0, 1e-6); }, {x.to(at::kDouble)});
    with_each_instruction_set([&] {
      const auto bare =
          differentiate([](const auto& in) { return rms_norm_ours(in[0], {}, 0, 1e-6); }, {x});
      CHECK(largest(bare.value - expected.value) < 5e-6);
      CHECK(largest(bare.gradients[0] - expected.gradients[0]) < 5e-5);
    });
  }
}

TEST_CASE("kernels: the fused rms norm of a GPU is the same, in every mixture of formats") {
  for (const auto format : {at::kFloat, at::kBFloat16, at::kHalf})
    for (const auto format_of_weight : {at::kFloat, format})
      for (const double offset : {0.0, 1.0}) {
        const auto x = at::randn({4, 5, 24}).mul(3).to(format);
        const auto weight = at::randn({24}).to(format_of_weight);
        const auto run = [&](auto function) {
          return differentiate([&](const auto& in) { return function(in[0], in[1], offset, 1e-6); },
                               {x, weight});
        };
        const auto ours = run(rms_norm_fused), expected = run(rms_norm_aten);
        const double digits = format == at::kFloat ? 1e-5 : format == at::kHalf ? 4e-3 : 3e-2;
        CHECK((ours.value.scalar_type() == format));
        CHECK(largest(ours.value - expected.value) < digits * largest(expected.value));
        for (size_t i = 0; i < 2; ++i)
          CHECK(largest(ours.gradients[i] - expected.gradients[i]) <
                digits * largest(expected.gradients[i]));
        const auto bare = rms_norm_fused(x, {}, 0, 1e-6);
        CHECK(largest(bare - rms_norm_aten(x, {}, 0, 1e-6)) < digits * largest(bare));
      }
}

TEST_CASE("kernels: sums of layer norm do not depend on the number of threads") {
  const auto x = at::randn({1000, 32}), weight = at::randn({32}), bias = at::randn({32});
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    return differentiate([](const auto& in) { return layer_norm_ours(in[0], in[1], in[2], 1e-5); },
                         {x, weight, bias});
  };
  const int threads = at::get_num_threads();
  const auto one = run(1), many = run(3);
  at::set_num_threads(threads);
  for (size_t i = 0; i < 3; ++i) CHECK(at::equal(one.gradients[i], many.gradients[i]));
}

TEST_CASE("kernels: a layer norm in fp32 and back is what a CPU makes of bf16") {
  const auto x = at::randn({5, 24}).to(at::kBFloat16);
  const auto weight = at::randn({24}), bias = at::randn({24});
  CHECK(at::equal(layer_norm_wide(x, weight, bias, 1e-5), layer_norm(x, weight, bias, 1e-5)));
  CHECK(at::equal(layer_norm_wide(x, weight, {}, 1e-5), layer_norm(x, weight, {}, 1e-5)));
}

TEST_CASE("kernels: cross entropy agrees with ATen's, with padding and ignored targets") {
  with_each_instruction_set([] {
    for (const auto kernel : {cross_entropy_in_place_ours, cross_entropy_in_place_by_operators})
      for (const int64_t vocabulary : {1, 7, 16, 65, 300}) {
        const auto logits = at::randn({33, vocabulary + 3}).mul(4);
        auto targets = at::randint(vocabulary, {33}, at::kLong);
        targets[4] = kIgnoredTarget;
        targets[32] = kIgnoredTarget;
        const auto reference = leaf(logits.to(at::kDouble));
        const auto loss = cross_entropy_aten(reference, targets, vocabulary);
        loss.backward();
        auto gradient = logits.clone();
        const double ours = kernel(gradient, targets, vocabulary, 1).item<double>();
        CHECK(ours == doctest::Approx(loss.item<double>()).epsilon(1e-6));
        CHECK(largest(gradient - reference.grad()) < 1e-6);
      }
  });
}

TEST_CASE("kernels: cross entropy by operators in a narrow format is that of fp32, rounded") {
  const auto exact = at::randn({33, 300}).mul(4).to(at::kBFloat16);
  auto targets = at::randint(290, {33}, at::kLong);
  targets[7] = kIgnoredTarget;
  auto narrow = exact.clone(), wide = exact.to(at::kFloat);
  const double ours = cross_entropy_in_place_by_operators(narrow, targets, 290, 1).item<double>();
  CHECK(ours == cross_entropy_in_place_by_operators(wide, targets, 290, 1).item<double>());
  CHECK(at::equal(narrow, wide.to(at::kBFloat16)));
  CHECK(at::equal(narrow.narrow(1, 290, 10), at::zeros({33, 10}, at::kBFloat16)));
}

TEST_CASE("kernels: cross entropy of bf16 is that of fp32, its gradient times a factor rounded") {
  with_each_instruction_set([] {
    for (const int64_t vocabulary : {1, 7, 16, 65, 300})
      for (const double factor : {1.0, 0.3}) {
        auto narrow = at::randn({33, vocabulary + 3}).mul(4).to(at::kBFloat16);
        auto wide = narrow.to(at::kFloat);
        auto targets = at::randint(vocabulary, {33}, at::kLong);
        targets[7] = kIgnoredTarget;
        CHECK(cross_entropy_in_place_ours(narrow, targets, vocabulary, factor).item<double>() ==
              cross_entropy_in_place_ours(wide, targets, vocabulary, 1).item<double>());
        CHECK(at::equal(narrow, wide.mul(factor).to(at::kBFloat16)));
      }
  });
}

TEST_CASE("kernels: cross entropy in bf16 passes a NaN on") {
  with_each_instruction_set([] {
    for (const int64_t at : {0, 5, 20}) {
      auto logits = at::randn({1, 21}).to(at::kBFloat16);
      logits[0][at] = std::nan("");
      const auto loss = cross_entropy_in_place_ours(logits, at::ones({1}, at::kLong), 21, 1);
      CHECK(std::isnan(loss.item<double>()));
      CHECK(logits.isnan().all().item<bool>());
    }
  });
}

TEST_CASE("kernels: cross entropy survives extreme logits") {
  for (const auto kernel : {cross_entropy_in_place_ours, cross_entropy_in_place_by_operators}) {
    auto logits = at::zeros({2, 3});
    logits[0][0] = 1e30;
    logits[1][2] = -1e30;
    auto targets = at::zeros({2}, at::kLong);
    CHECK(kernel(logits, targets, 3, 1).item<double>() == doctest::Approx(std::log(2.0)));
    CHECK(logits.isfinite().all().item<bool>());
  }
}

TEST_CASE("kernels: a head in bf16 agrees with its logits in bf16, with and without a cap") {
  const int64_t vocabulary = 40, rows = 33;
  const auto hidden = at::randn({rows, 24}), weight = at::randn({vocabulary + 8, 24});
  const auto targets = at::randint(vocabulary, {rows}, at::kLong);
  for (const double softcap : {0.0, 3.0}) {
    const auto head = [&](const at::Tensor& matrix) {
      return Head{matrix, vocabulary, softcap, at::kBFloat16};
    };
    const auto ours = differentiate(
        [&](const auto& in) { return head(in[1]).loss_sum(in[0], targets); }, {hidden, weight});
    const auto reference = differentiate(
        [&](const auto& in) {
          return cross_entropy_aten(head(in[1]).logits(in[0]), targets, vocabulary);
        },
        {hidden, weight});
    CHECK(ours.value.item<double>() ==
          doctest::Approx(reference.value.item<double>()).epsilon(1e-5));
    for (size_t i = 0; i < 2; ++i) {
      const auto off = (ours.gradients[i] - reference.gradients[i]).norm();
      CHECK(off.item<double>() < 1e-2 * reference.gradients[i].norm().item<double>());
    }
  }
}

TEST_CASE("kernels: a head in fp16 applies the loss's gradient before it rounds its own") {
  // All but the target have a probability of 1.5e-8, which fp16 rounds to zero.
  const int64_t vocabulary = 40, rows = 8;
  const auto targets = at::zeros({rows}, at::kLong);
  auto hidden = at::zeros({rows, 4}), weight = at::zeros({vocabulary, 4});
  hidden.select(1, 0).fill_(1);
  weight[0][0].fill_(18);
  const auto gradients = [&](at::ScalarType compute, double given) {
    const auto x = leaf(hidden), w = leaf(weight);
    const auto loss = Head{w, vocabulary, 0, compute}.loss_sum(x, targets, given);
    loss.mul(given).backward();
    return std::vector{x.grad().div(given), w.grad().div(given)};
  };
  const auto exact = gradients(at::kFloat, 1), scaled = gradients(at::kHalf, 65536);
  for (size_t i = 0; i < 2; ++i) {
    const auto off = (scaled[i] - exact[i]).norm();
    CHECK(off.item<double>() < 1e-2 * exact[i].norm().item<double>());
  }
  const auto in_fp32 = gradients(at::kFloat, 3);
  for (size_t i = 0; i < 2; ++i) CHECK(at::allclose(in_fp32[i], exact[i], 1e-5));
}

TEST_CASE("kernels: a head with a promised gradient adds its weight's where it lies") {
  const int64_t vocabulary = 70000, rows = 300;  // several chunks
  const auto hidden = at::randn({rows, 4}), weight = at::randn({vocabulary, 4});
  const auto targets = at::randint(vocabulary, {rows}, at::kLong);
  for (const auto compute : {at::kFloat, at::kBFloat16}) {
    const auto x = leaf(hidden), w = leaf(weight), same = leaf(weight);
    Head{w, vocabulary, 0, compute}.loss_sum(x, targets, 4).mul(4).backward();
    const auto gradient = same.mutable_grad() = at::zeros_like(weight);
    Head{same, vocabulary, 0, compute}.loss_sum(leaf(hidden), targets, 4).mul(4).backward();
    CHECK(same.grad().is_same(gradient));
    CHECK(at::equal(gradient, w.grad()));
    Head{same, vocabulary, 0, compute}.loss_sum(leaf(hidden), targets, 4).mul(4).backward();
    CHECK(at::allclose(gradient, w.grad().mul(2)));

    const auto loss = Head{same, vocabulary, 0, compute}.loss_sum(leaf(hidden), targets, 4);
    CHECK_THROWS_WITH_AS(loss.mul(2).backward(),
                         "head: backward gives another gradient than was promised",
                         std::logic_error);
  }
}

TEST_CASE("kernels: a head in bf16 in many chunks and parts is near one in fp32") {
  // 2^25 logits are one chunk, 4,096 rows of the weight a part: neither divides these evenly.
  const int64_t vocabulary = 70000, rows = 600;
  const auto hidden = at::randn({rows, 4}), weight = at::randn({vocabulary + 8, 4});
  const auto targets = at::randint(vocabulary, {rows}, at::kLong);
  const auto with = [&](at::ScalarType compute) {
    return differentiate(
        [&](const auto& in) {
          return Head{in[1], vocabulary, 0, compute}.loss_sum(in[0], targets);
        },
        {hidden, weight});
  };
  const auto narrow = with(at::kBFloat16), wide = with(at::kFloat);
  CHECK(narrow.value.item<double>() == doctest::Approx(wide.value.item<double>()).epsilon(1e-3));
  for (size_t i = 0; i < 2; ++i) {
    CHECK((narrow.gradients[i].scalar_type() == at::kFloat));
    const auto off = (narrow.gradients[i] - wide.gradients[i]).norm();
    CHECK(off.item<double>() < 2e-2 * wide.gradients[i].norm().item<double>());
  }
  const auto with_frozen = leaf(hidden), with_trained = leaf(hidden);
  Head{weight, vocabulary, 0, at::kBFloat16}.loss_sum(with_frozen, targets).backward();
  Head{leaf(weight), vocabulary, 0, at::kBFloat16}.loss_sum(with_trained, targets).backward();
  CHECK(at::equal(with_frozen.grad(), with_trained.grad()));
}

TEST_CASE("kernels: a head in many chunks is the head in one") {
  // 2^24 logits are one chunk: 300 rows of 70,000 columns are more than one.
  const int64_t vocabulary = 70000, rows = 300;
  const auto hidden = at::randn({rows, 4}), weight = at::randn({vocabulary + 8, 4});
  const auto targets = at::randint(vocabulary, {rows}, at::kLong);
  const auto ours = differentiate(
      [&](const auto& in) {
        return Head{in[1], vocabulary}.loss_sum(in[0], targets);
      },
      {hidden, weight});
  const auto reference = differentiate(
      [&](const auto& in) {
        return cross_entropy_aten(linear_aten(in[0], in[1], {}), targets, vocabulary);
      },
      {hidden.to(at::kDouble), weight.to(at::kDouble)});
  CHECK(ours.value.item<double>() == doctest::Approx(reference.value.item<double>()).epsilon(1e-5));
  for (size_t i = 0; i < 2; ++i) CHECK(largest(ours.gradients[i] - reference.gradients[i]) < 1e-4);
  const at::NoGradGuard no_grad;
  CHECK(Head{weight, vocabulary}.loss_sum(hidden, targets).item<double>() ==
        ours.value.item<double>());
}

TEST_CASE("head: logits are planned as they are computed, in parts of many rows on a GPU") {
  const auto weight = at::empty({50257, 128}, at::TensorOptions(at::kMeta));
  const double row = 50257 * sizeof(float);
  CHECK(Head{weight, 50257}.loss_bytes(1000, at::kCPU) == 128 * row);  // as large as the weight
  CHECK(Head{weight, 50257}.loss_bytes(100, at::kCPU) == 100 * row);
  CHECK(Head{weight, 50257}.loss_bytes(1000, at::kCUDA) == 1000 * row);
  CHECK(Head{weight, 50257, 30}.loss_bytes(1000, at::kCPU) == 3 * 128 * row);
}

TEST_CASE("head: the gradient of its weight is planned where it is not added to what is there") {
  const auto with = [](at::ScalarType type, at::DeviceType device, bool is_trained) {
    auto weight = at::empty({1000, 64}, at::TensorOptions(at::kMeta).dtype(type));
    const double without = Head{weight, 1000}.loss_bytes(64, device);
    weight.set_requires_grad(is_trained);
    return Head{weight, 1000}.loss_bytes(64, device) - without;
  };
  CHECK(with(at::kFloat, at::kCPU, true) == 0);
  CHECK(with(at::kFloat, at::kCUDA, true) == 1000 * 64 * 4);
  CHECK(with(at::kFloat, at::kCUDA, false) == 0);
  CHECK(with(at::kBFloat16, at::kCPU, true) == 1000 * 64 * 4);
}
