// checkpoint_activations: the same gradients, to the bit.
#include "kernels/recompute.h"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <map>

#include "engine/buffers/optimizer_groups.h"
#include "engine/model.h"
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
  at::Tensor generator;  // its state behind backward
};

at::Tensor generator_state() {
  return at::globalContext().defaultGenerator(at::kCPU).get_state();
}

Computed computed(const std::string& keys, const std::string& optimizer = "",
                  const Documents* documents = nullptr) {
  const auto recipe = recipe_with("model", "gpt", "vocab_size = 11\ndropout = 0.1\n" + keys);
  ParameterList parameters(at::kCPU);
  const auto model = Registry<Model>::instance().find("gpt")(recipe.section("model"), parameters);
  parameters.initialize(1);
  if (!optimizer.empty()) {
    const auto with_frozen = recipe_with("optimizer", "adamw", optimizer);
    freeze(with_frozen.section("optimizer"), parameters.items());
  }
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
                            at::tensor(std::vector<int64_t>{1, 4, 5, 8, 11})};
  for (const std::string& keys : kModels) {
    INFO(keys);
    check_same(computed(keys, "", &documents), computed(keys + kCheckpointed, "", &documents));
  }
}

}  // namespace exprun
