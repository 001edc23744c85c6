// checkpoint_activations: the same gradients, to the bit.
#include "layers/recompute.h"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <vector>

#include "engine/buffers/optimizer_groups.h"
#include "engine/model.h"
#include "kernels/activation.h"
#include "kernels/linear.h"
#include "support/sections.h"

namespace exprun {
namespace {

const std::vector<std::string> kModels = {
    "",
    "position = { type = \"rotary\" }\nqk_norm = true\nquery_key_value = \"separate\"\n"
    "num_key_value_heads = 1\n",
    "norm = { type = \"rms_norm\", placement = \"post\" }\nactivation = \"swiglu\"\n",
    "sliding_window = 3\nbias = false\n", "lora = { rank = 2, dropout = 0.2 }\n"};

using Gradients = std::map<std::string, at::Tensor>;

struct Computed {
  double loss = 0;
  Gradients gradients;
  at::Tensor generator;  // its state after backward
};

at::Tensor generator_state() {
  return at::globalContext().defaultGenerator(at::kCPU).get_state();
}

// Whether parameters have a gradient before backward, to which it adds, as in training.
enum class Gradient { none, zero };

Computed computed(const std::string& keys, const std::string& optimizer = "",
                  const Documents* documents = nullptr, at::ScalarType compute = at::kFloat,
                  Gradient before = Gradient::none) {
  const auto recipe = recipe_with("model", "gpt", "vocab_size = 11\ndropout = 0.1\n" + keys);
  ParameterList parameters(at::kCPU, {compute});
  const auto model = Registry<Model>::instance().find("gpt")(recipe.section("model"), parameters);
  parameters.initialize(1);
  if (!optimizer.empty()) {
    const auto with_frozen = recipe_with("optimizer", "adamw", optimizer);
    freeze(with_frozen.section("optimizer"), parameters.items());
  }
  for (const Parameter& parameter : parameters.items())
    if (before == Gradient::zero && !parameter.is_frozen())
      parameter.tensor.mutable_grad() = at::zeros_like(parameter.tensor);
  auto generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_current_seed(3);
  const auto tokens = at::randint(11, {documents ? 1 : 3, documents ? 12 : 8}, at::kLong);
  const auto loss = documents ? model->packed_loss_sum(tokens, tokens, *documents)
                              : model->loss_sum(tokens, tokens);
  loss.backward();
  Computed result{loss.item<double>(), {}, generator_state()};
  for (const Parameter& parameter : parameters.items())
    if (parameter.tensor.grad().defined())
      result.gradients[parameter.name] = parameter.tensor.grad();
  return result;
}

void check_same(const Computed& plain, const Computed& again) {
  CHECK(again.loss == plain.loss);
  CHECK(at::equal(again.generator, plain.generator));
  REQUIRE(again.gradients.size() == plain.gradients.size());
  CHECK(plain.gradients.size() > 2);
  for (const auto& [name, gradient] : plain.gradients)
    CHECK_MESSAGE(at::equal(again.gradients.at(name), gradient), name);
}

const std::string kCheckpointed = "checkpoint_activations = true\n";

}  // namespace

TEST_CASE("recompute: gradients are the same to the bit, with dropout, whatever the parts") {
  for (const std::string& keys : kModels) {
    INFO(keys);
    check_same(computed(keys), computed(keys + kCheckpointed));
  }
}

TEST_CASE("recompute: in bf16, where weights' gradients are added where they lie") {
  for (const std::string& keys : kModels)
    for (const char* optimizer : {"", "frozen = [\"blocks.0.*\"]\n"}) {
      INFO(keys, optimizer);
      const auto of = [&](const std::string& more, Gradient before) {
        return computed(keys + more, optimizer, nullptr, at::kBFloat16, before);
      };
      const auto alone = of("", Gradient::none), added = of("", Gradient::zero);
      check_same(alone, of(kCheckpointed, Gradient::none));
      check_same(added, of(kCheckpointed, Gradient::zero));
      // The embedding's rows are added one by one to the head's gradient where that is there.
      for (const auto& [name, gradient] : alone.gradients)
        CHECK((name == "token_embedding.weight" || at::equal(added.gradients.at(name), gradient)));
    }
}

TEST_CASE("recompute: with frozen parameters, and nothing that is trained before a block") {
  for (const char* frozen : {"[\"*embedding*\"]", "[\"*embedding*\", \"blocks.0.*\"]",
                             "[\"blocks.1.*\"]", "[\"*.weight\"]"}) {
    INFO(frozen);
    const std::string optimizer = std::string("frozen = ") + frozen + "\n";
    check_same(computed("", optimizer), computed(kCheckpointed, optimizer));
  }
}

TEST_CASE("recompute: of packed documents") {
  const Documents documents{{5, 1, 6},
                            at::tensor(std::vector<int64_t>{0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 5}),
                            at::tensor(std::vector<int64_t>{1, 4, 5, 8, 11}),
                            at::tensor(std::vector<int32_t>{0, 5, 6, 12})};
  for (const std::string& keys : kModels) {
    INFO(keys);
    check_same(computed(keys, "", &documents), computed(keys + kCheckpointed, "", &documents));
  }
}

namespace {

// Values and the gradients of all that needs one, of linear(value(inputs), weight, bias).
std::vector<at::Tensor> with_gradients(const Tensors& inputs, const Tensors& parameters,
                                       const std::function<at::Tensor()>& output) {
  const auto y = output();
  y.mul(at::arange(y.numel(), at::kFloat).view(y.sizes())).sum().backward();
  std::vector<at::Tensor> found{y.detach()};
  for (const Tensors& tensors : {inputs, parameters})
    for (const at::Tensor& tensor : tensors) {
      if (!tensor.defined() || !tensor.requires_grad()) continue;
      REQUIRE(tensor.grad().defined());
      found.push_back(tensor.grad().clone());
      tensor.mutable_grad().reset();
    }
  return found;
}

}  // namespace

TEST_CASE(
    "recompute: a linear layer of a value that is not kept has the gradients of one that is") {
  at::manual_seed(5);
  const auto leaf = [](at::IntArrayRef sizes, bool needs_gradient) {
    return at::randn(sizes).set_requires_grad(needs_gradient);
  };
  const Function gelu = [](const Tensors& in) { return activation(in[0], ActivationForm::gelu); };
  const Function gated = [](const Tensors& in) { return swiglu(in[0], in[1]); };
  for (const bool input_learns : {true, false})
    for (const bool weight_learns : {true, false})
      for (const bool has_bias : {true, false})
        for (const size_t count : {1, 2}) {
          CAPTURE(input_learns);
          CAPTURE(weight_learns);
          CAPTURE(has_bias);
          if (!input_learns && !weight_learns) continue;
          const Tensors inputs{leaf({3, 7, 24}, input_learns), leaf({3, 7, 24}, true)};
          const Tensors used(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(count));
          const Function& value = count == 1 ? gelu : gated;
          const auto weight = leaf({5, 24}, weight_learns);
          const auto bias = has_bias ? leaf({5}, true) : at::Tensor();
          const auto kept = with_gradients(used, {weight, bias},
                                           [&] { return linear(value(used), weight, bias); });
          const auto again = with_gradients(used, {weight, bias}, [&] {
            return linear_of_recomputed(used, value, weight, bias);
          });
          REQUIRE(again.size() == kept.size());
          for (size_t i = 0; i < kept.size(); ++i) CHECK(at::equal(again[i], kept[i]));
        }
}

}  // namespace exprun
