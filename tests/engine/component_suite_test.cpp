// What every component promises, whatever it is: its name is that of its schema, its build reads
// every key, and it works from its defaults.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/randint.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "engine/buffers/optimizer_groups.h"
#include "engine/evaluation.h"
#include "engine/model.h"
#include "engine/optimizer.h"
#include "engine/schedule.h"
#include "engine/tiny_run.h"
#include "support/sections.h"

using namespace exprun;

namespace {

std::vector<std::string> schema_names(const std::string& kind) {
  return SchemaSet::embedded().types(kind);
}

// Without the components that tests add.
template <class Component>
std::vector<std::string> registered_names() {
  auto names = Registry<Component>::instance().names();
  std::erase_if(names, [](const std::string& name) { return name.starts_with("test_"); });
  return names;
}

// Everything in the section but what the engine reads itself.
std::vector<std::string> unread(const Section& section, std::vector<std::string> of_the_engine) {
  auto left = section.unread();
  std::erase_if(left, [&](const std::string& key) {
    return std::count(of_the_engine.begin(), of_the_engine.end(), key) > 0;
  });
  return left;
}

const std::vector<std::string> kNone;

ParameterGroup some_group() {
  const at::NoGradGuard no_grad;
  ParameterGroup group{"default", {}, {}};
  for (const bool decays : {true, false}) {
    const auto values = at::linspace(-1, 1, 40);
    group.ranges.push_back({values, at::full_like(values, 0.5), decays});
    // A matrix-wise optimizer gets the same numbers as a matrix.
    Parameter matrix{"matrix", ParameterClass::matrix, values.view({5, 8}), {}};
    matrix.tensor.mutable_grad() = group.ranges.back().gradients.view({5, 8});
    group.matrices.push_back(matrix);
  }
  return group;
}

// An optimizer of `type` over a group of its own.
struct Stepped {
  explicit Stepped(const std::string& type)
      : recipe(recipe_with("optimizer", type)),
        group(some_group()),
        optimizer(
            Registry<Optimizer>::instance().find(type).build(recipe.section("optimizer"), group)) {}

  void steps(int64_t first, int64_t last) {
    for (int64_t update = first; update <= last; ++update) {
      const at::NoGradGuard no_grad;
      for (auto& range : group.ranges)
        range.gradients.copy_(range.values.sin().add_(0.1 * static_cast<double>(update)));
      optimizer->step(optimizer->lr(), update);
    }
  }

  ResolvedRecipe recipe;
  ParameterGroup group;
  std::unique_ptr<Optimizer> optimizer;
};

void copy_into(Stepped& to, Stepped& from) {
  const at::NoGradGuard no_grad;
  auto target = to.optimizer->state();
  const auto source = from.optimizer->state();
  REQUIRE(target.size() == source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    CHECK(target[i].name == source[i].name);
    REQUIRE(target[i].tensors.size() == source[i].tensors.size());
    for (size_t j = 0; j < source[i].tensors.size(); ++j)
      target[i].tensors[j].copy_(source[i].tensors[j]);
  }
  for (size_t i = 0; i < from.group.ranges.size(); ++i)
    to.group.ranges[i].values.copy_(from.group.ranges[i].values);
}

}  // namespace

TEST_CASE("components: registered names are those of the schema files") {
  CHECK(registered_names<Model>() == schema_names("model"));
  CHECK(registered_names<Optimizer>() == schema_names("optimizer"));
  CHECK(registered_names<Schedule>() == schema_names("schedule"));
  CHECK(registered_names<Dataset>() == schema_names("dataset"));
  CHECK(registered_names<Evaluation>() == schema_names("evaluation"));
}

TEST_CASE("components: an optimizer of whole matrices says so in its schema") {
  for (const std::string& type : Registry<Optimizer>::instance().names()) {
    const bool of_matrices = Registry<Optimizer>::instance().find(type).granularity ==
                             Optimizer::Granularity::matrix_wise;
    CHECK_MESSAGE(
        SchemaSet::embedded().find("optimizer", type)->contains("x-updates") == of_matrices, type);
  }
}

TEST_CASE("components: a duplicate name is refused") {
  const auto build = Registry<Schedule>::instance().find("cosine");
  CHECK_THROWS_WITH_AS(Registry<Schedule>::instance().add("cosine", build),
                       "registry: two components are named 'cosine'", std::logic_error);
}

TEST_CASE("components: an unknown name is a programming error") {
  CHECK_THROWS_WITH_AS(Registry<Model>::instance().find("rnn"),
                       "registry: no component is named 'rnn'", std::logic_error);
}

TEST_CASE("components: every model builds from its defaults, reads every key and trains") {
  for (const auto& type : SchemaSet::embedded().types("model")) {
    INFO(type);
    const auto recipe = recipe_with("model", type);
    const auto section = recipe.section("model");
    ParameterList parameters(at::kCPU);
    const auto model = Registry<Model>::instance().find(type)(section, parameters);
    // feed_forward_multiple is part of what feed_forward_size is derived from.
    CHECK(unread(section, {"type", "init_partial", "init_resize_vocabulary",
                           "feed_forward_multiple"}) == kNone);
    parameters.initialize(1);
    const auto tokens = at::randint(model->vocab_size(), {2, model->context_length()}, at::kLong);
    model->loss_sum(tokens, tokens).backward();
    for (const auto& parameter : parameters.items())
      CHECK_MESSAGE(parameter.tensor.grad().defined(), parameter.name);
  }
}

TEST_CASE("components: every schedule builds from its defaults, reads every key and ends") {
  for (const auto& type : SchemaSet::embedded().types("schedule")) {
    INFO(type);
    const auto recipe = recipe_with("schedule", type);
    const auto section = recipe.section("schedule");
    const auto schedule = Registry<Schedule>::instance().find(type)(section, {10, 8, 80});
    CHECK(unread(section, {"type"}) == kNone);
    CHECK(schedule->factor(0) == 1);
    for (int64_t k = 0; k < 12; ++k) {
      CHECK(schedule->factor(k) >= 0);
      CHECK(schedule->factor(k) <= 1);
    }
  }
}

TEST_CASE("components: every optimizer builds from its defaults and reads every key") {
  for (const auto& type : SchemaSet::embedded().types("optimizer")) {
    INFO(type);
    const auto recipe = recipe_with("optimizer", type);
    const auto section = recipe.section("optimizer");
    Registry<Optimizer>::instance().find(type).build(section, some_group());
    // Ownership of parameters, decay by class and clipping are the engine's.
    CHECK(unread(section, {"type", "max_grad_norm", "lr_scaling", "groups", "decay"}) == kNone);
  }
}

TEST_CASE("components: an optimizer steps, and goes on from its state to the same bits") {
  for (const auto& type : SchemaSet::embedded().types("optimizer")) {
    INFO(type);
    Stepped whole(type), first(type), second(type);
    const auto before = whole.group.ranges[0].values.clone();
    whole.steps(1, 6);
    CHECK_FALSE(at::equal(whole.group.ranges[0].values, before));
    first.steps(1, 3);
    copy_into(second, first);
    second.steps(4, 6);
    for (size_t i = 0; i < whole.group.ranges.size(); ++i)
      CHECK(at::equal(second.group.ranges[i].values, whole.group.ranges[i].values));
  }
}

TEST_CASE("components: every evaluation builds from its defaults and reads every key") {
  for (const auto& type : SchemaSet::embedded().types("evaluation")) {
    INFO(type);
    const auto recipe = recipe_with("evaluation", type);
    const auto section = recipe.section("evaluation").table(type);
    Registry<Evaluation>::instance().find(type)(section);
    CHECK(unread(section, {"type", "every"}) == kNone);  // the engine calls when it is due
  }
}

TEST_CASE("components: every dataset builds from its defaults and is a function of the index") {
  const TinyRun tiny;
  for (const auto& type : SchemaSet::embedded().types("dataset")) {
    INFO(type);
    const auto recipe = recipe_with("dataset", type);
    const auto section = recipe.section("dataset");
    const auto build = Registry<Dataset>::instance().find(type);
    const auto dataset = build(section, {tiny.data, 16, 1});
    const auto together = dataset->batch(Split::train, 5, 3);
    const auto again = build(section, {tiny.data, 16, 1})->batch(Split::train, 6, 1);
    const auto second = together.part(1, 1);
    CHECK(at::equal(second.inputs, again.inputs));
    CHECK(at::equal(second.targets, again.targets));
  }
}
