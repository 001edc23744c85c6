// Every optimizer against plain PyTorch over 20 steps on the same gradients
// (tools/goldens/optimizers.py).
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/optimizer.h"
#include "support/sections.h"

using namespace exprun;
using nlohmann::json;

namespace {

json goldens() {
  std::ifstream stream("tests/golden/optimizers.json");
  return json::parse(stream);
}

at::Tensor values(const std::vector<int64_t>& shape, int64_t step) {
  const int64_t count = c10::multiply_integers(shape);
  return (at::arange(count, at::kDouble) + 3 * step).sin().div(2).to(at::kFloat).view(shape);
}

std::string toml_keys(const json& keys) {
  std::string toml;
  for (const auto& [key, value] : keys.items()) toml += key + " = " + value.dump() + "\n";
  return toml;
}

// The tensors of a case, as one range each and as matrices: an optimizer takes what it steps.
struct Tensors {
  ParameterGroup group{"default", {}, {}};
  std::vector<std::vector<int64_t>> shapes;

  explicit Tensors(const std::vector<std::vector<int64_t>>& all) : shapes(all) {
    for (const auto& shape : shapes) {
      Parameter parameter{"p", ParameterClass::matrix, values(shape, 0), {}};
      parameter.tensor.set_requires_grad(true);
      parameter.tensor.mutable_grad() = values(shape, 1);
      group.ranges.push_back({parameter.tensor.detach().view({-1}),
                              parameter.tensor.grad().view({-1}), /*decays=*/true});
      group.matrices.push_back(parameter);
    }
  }

  void give_gradients(int64_t step) {
    for (size_t i = 0; i < shapes.size(); ++i)
      group.ranges[i].gradients.copy_(values(shapes[i], step).view({-1}));
  }
};

}  // namespace

TEST_CASE("optimizers: twenty steps of each are PyTorch's") {
  const at::NoGradGuard no_grad;
  const json golden = goldens();
  std::set<std::string> seen;
  for (const auto& one : golden.at("cases")) {
    INFO(one.at("title").get<std::string>());
    const auto type = one.at("type").get<std::string>();
    seen.insert(type);
    std::vector<std::string> names;
    std::vector<std::vector<int64_t>> shapes;
    for (const auto& [name, final] : one.at("final").items()) {
      names.push_back(name);
      shapes.push_back(golden.at("shapes").at(name));
    }
    Tensors tensors(shapes);
    const auto recipe = recipe_with("optimizer", type, toml_keys(one.at("keys")));
    const auto optimizer = Registry<Optimizer>::instance().find(type).build(
        recipe.section("optimizer"), tensors.group);
    for (int64_t step = 1; step <= golden.at("steps").get<int64_t>(); ++step) {
      tensors.give_gradients(step);
      optimizer->step(optimizer->lr(), step);
    }
    for (size_t i = 0; i < names.size(); ++i) {
      const auto expected = one.at("final").at(names[i]).get<std::vector<float>>();
      const auto off = (tensors.group.ranges[i].values - at::tensor(expected)).abs().max();
      CHECK_MESSAGE(off.item<double>() < 2e-6, names[i]);
    }
  }
  const auto all = SchemaSet::embedded().types("optimizer");
  CHECK(seen == std::set<std::string>(all.begin(), all.end()));
}
