#include "engine/buffers/optimizer_groups.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "engine/buffers/optimizers.h"
#include "engine/parameter.h"
#include "engine/tiny_run.h"

namespace exprun {
namespace {

std::string mistake(const std::vector<std::string>& overrides) {
  try {
    const TinyRun run(overrides);
    run.build();
  } catch (const RecipeError& error) {
    const std::string text = error.what();
    return text.substr(text.find("error: ") + 7);
  }
  return "none";
}

TEST_CASE("glob: stars stand for any text, dots included") {
  CHECK(glob_matches("blocks.*.weight", "blocks.0.attention.output_projection.weight"));
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("head.?eight", "head.weight"));
  CHECK_FALSE(glob_matches("blocks.*.weight", "blocks.0.attention.bias"));
  CHECK_FALSE(glob_matches("head", "head.weight"));
  CHECK_FALSE(glob_matches("a?", "a"));
}

TEST_CASE("optimizer groups: matrices and embeddings decay, vectors do not") {
  const TinyRun run;
  const Pipeline pipeline = run.build();
  const auto& groups = pipeline.optimizers().groups();
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].name == "default");
  for (const Parameter& parameter : groups[0].decayed)
    CHECK(parameter.kind != ParameterClass::vector);
  for (const Parameter& parameter : groups[0].undecayed)
    CHECK(parameter.kind == ParameterClass::vector);
}

TEST_CASE("optimizer groups: a group takes what it matches, [optimizer] the rest") {
  const TinyRun run({R"(optimizer.groups.late={match=["blocks.1.*"],type="adamw",lr=1e-5})"});
  const Pipeline pipeline = run.build();
  const auto& groups = pipeline.optimizers().groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "default");
  CHECK(groups[1].name == "late");
  for (const Parameter& parameter : groups[1].decayed)
    CHECK(parameter.name.starts_with("blocks.1."));
  CHECK(pipeline.optimizers().lr(1) == 3e-3);
}

TEST_CASE("optimizer groups: a parameter in two groups is named") {
  CHECK(mistake({R"(optimizer.groups.a={match=["blocks.*"],type="adamw",lr=1e-5})",
                 R"(optimizer.groups.b={match=["*.up_projection.weight"],type="adamw",lr=1e-5})"})
            .starts_with("parameter 'blocks.0.feed_forward.up_projection.weight' is already "
                         "in [optimizer.groups.a]"));
}

TEST_CASE("optimizer groups: a group that matches nothing is a mistake") {
  CHECK(mistake({R"(optimizer.groups.a={match=["block.*"],type="adamw",lr=1e-5})"})
            .starts_with("no parameter matches group 'a'"));
}

TEST_CASE(
    "frozen parameters: neither gradient nor state, not changed by a bit, no work for others") {
  const TinyRun run({R"(optimizer.frozen=["*embedding*", "blocks.0.*"])"});
  const Pipeline initial = run.build();
  const ParameterList& parameters = *initial.train_state.parameters;
  MemoryRecorder recorder;
  const auto trained = make_attempt(run, recorder).tensors;
  int64_t trainable = 0;
  for (const Parameter& parameter : parameters.items()) {
    CAPTURE(parameter.name);
    const bool frozen = parameter.name.find("embedding") != std::string::npos ||
                        parameter.name.starts_with("blocks.0.");
    CHECK(parameter.is_frozen() == frozen);
    CHECK(parameter.tensor.grad().defined() == !frozen);
    CHECK(trained.at(parameter.name).equal(parameter.tensor) == frozen);
    CHECK(trained.contains(parameter.name + "/exp_avg") == !frozen);
    if (!frozen) trainable += parameter.tensor.numel();
  }
  CHECK(parameters.trainable_count() == trainable);
  CHECK(initial.optimizers().state_size().bytes == trainable * 8);
}

TEST_CASE("frozen parameters: the first gradients of the others are those of the whole model") {
  const auto gradients = [](const std::vector<std::string>& overrides) {
    const TinyRun run(overrides);
    const Pipeline pipeline = run.build();
    const Batch batch = pipeline.read(Split::train, 0, 4);
    pipeline.model().set_training(false);
    pipeline.model().loss_sum(batch.inputs, batch.targets).backward();
    std::map<std::string, at::Tensor> result;
    for (const Parameter& parameter : pipeline.train_state.parameters->items())
      if (!parameter.is_frozen()) result[parameter.name] = parameter.tensor.grad().clone();
    return result;
  };
  for (const std::string tied : {"model.tie_embeddings=true", "model.tie_embeddings=false"}) {
    CAPTURE(tied);
    const auto whole = gradients({tied});
    const auto part = gradients(
        {tied, R"(optimizer.frozen=["*.bias", "token_embedding.*", "*norm*", "blocks.1.feed*"])"});
    CHECK(part.size() < whole.size());
    for (const auto& [name, gradient] : part) {
      CAPTURE(name);
      CHECK(gradient.equal(whole.at(name)));
    }
  }
}

// Two blocks of width 32 and a tied head of 61 rows: 6 operations a trained parameter and token, 4
// a frozen one that gradients pass, 2 where there is no backward; 12 or 4 of attention.
TEST_CASE("frozen parameters: neither operations nor activations that are not there are counted") {
  const auto costs = [](const std::vector<std::string>& overrides) {
    const TinyRun run(overrides);
    const TrainState state = build_train_state(run.recipe, at::kMeta);
    return std::pair{state.model->flops_per_token(16),
                     state.model->activation_bytes(1, 16, at::kCPU)};
  };
  const TinyRun run;
  const TrainState state = build_train_state(run.recipe, at::kMeta);
  std::map<std::string, double> count;  // "blocks.0", "token_embedding"
  for (const Parameter& parameter : state.parameters->items()) {
    const auto end = parameter.name.find('.', parameter.name.starts_with("blocks.") ? 7 : 0);
    count[parameter.name.substr(0, end)] += static_cast<double>(parameter.tensor.numel());
  }
  const double attention = 32 * 16;
  const double rest = 6 * count["final_norm"];
  const auto [all, all_bytes] = costs({});
  CHECK(all == 6 * (count["token_embedding"] + count["blocks.0"] + count["blocks.1"]) + rest +
                   24 * attention);
  // The embedding is the head as well: gradients pass it.
  const auto [bottom, bottom_bytes] = costs({R"(optimizer.frozen=["*embedding*", "blocks.0.*"])"});
  CHECK(bottom == 4 * count["token_embedding"] + 2 * count["blocks.0"] + 6 * count["blocks.1"] +
                      rest + (4 + 12) * attention);
  CHECK(bottom_bytes < 0.6 * all_bytes);
  const auto [top, top_bytes] = costs({R"(optimizer.frozen=["blocks.1.*"])"});
  CHECK(top == 6 * (count["token_embedding"] + count["blocks.0"]) + 4 * count["blocks.1"] + rest +
                   24 * attention);
  CHECK(top_bytes == all_bytes);
  CHECK(costs({"model.checkpoint_activations=true"}).first == all);
  CHECK(costs({"model.checkpoint_activations=true", "model.num_layers=6"}).second <
        0.4 * costs({"model.num_layers=6"}).second);
}

TEST_CASE("frozen parameters: mistakes are named, with a suggestion") {
  CHECK(mistake({R"(optimizer.frozen=["token_embeding.weight"])"})
            .starts_with("no parameter matches 'token_embeding.weight'"));
  CHECK(mistake({R"(optimizer.frozen=["token_embeding.weight"])"})
            .find("did you mean 'token_embedding.weight'?") != std::string::npos);
  CHECK(mistake({R"(optimizer.frozen=["*"])"})
            .starts_with("all parameters are frozen: there is nothing to train"));
  CHECK(mistake({R"(optimizer.frozen=["blocks.*"])",
                 R"(optimizer.groups.a={match=["blocks.0.*"],type="adamw",lr=1e-5})"})
            .starts_with("all parameters that match group 'a' are frozen"));
}

}  // namespace
}  // namespace exprun
