// Packed examples against a plain computation, example by example.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <map>

#include "base/diagnostic.h"
#include "base/random.h"
#include "engine/dataset.h"
#include "engine/model.h"
#include "support/sections.h"
#include "support/temporary_folder.h"
#include "text/examples.h"

namespace exprun {
namespace {

constexpr int64_t kVocabulary = 31, kLength = 24;

// Tokens of an example, and whether each is learned.
struct PlainExample {
  std::vector<int64_t> tokens;
  std::vector<bool> learned;
};

// A question, a response, and for some a second turn and an end that is not learned.
std::vector<PlainExample> fifty_examples() {
  std::vector<PlainExample> examples(50);
  for (uint64_t i = 0; i < 50; ++i) {
    uint64_t drawn = 0;
    const auto add = [&](uint64_t most, bool learned) {
      const uint64_t count = 1 + random_below(most, {i, ++drawn, 1});
      for (uint64_t j = 0; j < count; ++j) {
        examples[i].tokens.push_back(
            static_cast<int64_t>(random_below(kVocabulary, {i, drawn, j, 2})));
        examples[i].learned.push_back(learned);
      }
    };
    add(5, false);
    add(5, true);
    if (i % 3 == 0) add(3, false), add(4, true);
    if (i % 4 == 0) add(3, false);
  }
  return examples;
}

struct Prepared {
  TemporaryFolder folder;
  PreparedData data;

  explicit Prepared(const std::vector<PlainExample>& examples) {
    std::vector<uint32_t> tokens, words;
    for (const PlainExample& example : examples) {
      tokens.insert(tokens.end(), example.tokens.begin(), example.tokens.end());
      for (size_t i = 0; i < example.tokens.size();) {
        size_t end = i;
        while (end < example.tokens.size() && example.learned[end] == example.learned[i]) ++end;
        words.push_back(to_word(
            {static_cast<int64_t>(end - i), example.learned[i], end == example.tokens.size()}));
        i = end;
      }
    }
    data.train = {written("train.bin", 2, tokens)};
    data.train_segments = {written("train.segments", 4, words)};
    data.validation = {written("validation.bin", 2, tokens)};
    data.validation_segments = {written("validation.segments", 4, words)};
  }

  TokenShard written(const char* name, int64_t bytes, const std::vector<uint32_t>& numbers) const {
    ShardWriter writer(folder.path() / name, bytes);
    writer.append(PackedTokens(bytes, numbers).all());
    return writer.finish();
  }

  std::unique_ptr<Dataset> dataset(const std::string& keys = "", int64_t seed = 1) const {
    const auto recipe = recipe_with("dataset", "instruction", keys);
    return Registry<Dataset>::instance().find("instruction")(recipe.section("dataset"),
                                                             {data, kLength, seed, 4});
  }
};

struct Built {
  explicit Built(const std::string& keys)
      : recipe(recipe_with(
            "model", "gpt",
            "vocab_size = 31\ncontext_length = 24\ninitialization = { std = 0.3 }\n" + keys)),
        parameters(at::kCPU),
        model(Registry<Model>::instance().find("gpt")(recipe.section("model"), parameters)) {
    parameters.initialize(1);
  }

  // The gradients of what was computed since the last call.
  std::map<std::string, at::Tensor> gradients() {
    std::map<std::string, at::Tensor> gradients;
    for (const auto& parameter : parameters.items()) {
      gradients[parameter.name] = parameter.tensor.grad();
      parameter.tensor.mutable_grad() = at::Tensor();
    }
    return gradients;
  }

  ResolvedRecipe recipe;
  ParameterList parameters;
  std::unique_ptr<Model> model;
};

// Alone in a batch, every token computed, what is not learned ignored.
at::Tensor plain_loss(Model& model, const PlainExample& example) {
  const auto count = static_cast<int64_t>(example.tokens.size()) - 1;
  const auto tokens = at::tensor(example.tokens, at::kLong);
  auto targets = tokens.narrow(0, 1, count).clone();
  for (int64_t i = 0; i < count; ++i)
    if (!example.learned[static_cast<size_t>(i) + 1]) targets[i] = kIgnoredTarget;
  return model.loss_sum(tokens.narrow(0, 0, count).unsqueeze(0), targets.unsqueeze(0));
}

const std::vector<std::string> kModels = {
    "",
    "query_key_value = \"separate\"\nnum_key_value_heads = 1\n",
    "position = { type = \"rotary\" }\nqk_norm = true\n",
    "position = { type = \"rotary\", layout = \"interleaved\" }\n",
    "sliding_window = 4\n",
    "norm = { type = \"rms_norm\", placement = \"post\" }\nactivation = \"swiglu\"\n"
    "tie_embeddings = false\nlogit_softcap = 5.0\n"};

}  // namespace

TEST_CASE("instruction: masked, packed loss is that of fifty examples one by one") {
  const auto examples = fifty_examples();
  const Prepared prepared(examples);
  const auto dataset = prepared.dataset();
  const int64_t samples = dataset->samples_per_epoch(Split::train);
  for (const std::string& keys : kModels) {
    INFO(keys);
    Built built(keys);
    double expected = 0;
    int64_t learned = 0;
    for (const PlainExample& example : examples) {
      const auto loss = plain_loss(*built.model, example);
      loss.backward();
      expected += loss.item<double>();
      for (size_t i = 1; i < example.learned.size(); ++i) learned += example.learned[i];
    }
    const auto expected_gradients = built.gradients();
    // In two batches, each in micro-batches.
    double loss = 0;
    int64_t counted = 0;
    for (int64_t first = 0; first < samples; first += (samples + 1) / 2) {
      const int64_t count = std::min((samples + 1) / 2, samples - first);
      const Batch batch = dataset->batch(Split::train, first, count);
      counted += batch.counted_targets;
      for (int64_t part = 0; part < count; part += 3) {
        const auto of_part =
            loss_sum_of(*built.model, batch.part(part, std::min<int64_t>(3, count - part)));
        of_part.backward();
        loss += of_part.item<double>();
      }
    }
    CHECK(counted == learned);
    CHECK(loss == doctest::Approx(expected).epsilon(1e-5));
    const auto gradients = built.gradients();
    for (const auto& [name, gradient] : expected_gradients)
      CHECK_MESSAGE(at::allclose(gradients.at(name), gradient, 1e-4, 1e-4), name);
  }
}

TEST_CASE("instruction: no token is padded, and no pack is longer than a sequence") {
  const auto examples = fifty_examples();
  const Prepared prepared(examples);
  const auto dataset = prepared.dataset();
  const int64_t samples = dataset->samples_per_epoch(Split::train);
  int64_t needed = 0;
  for (const PlainExample& example : examples) {
    size_t last = example.learned.size();
    while (!example.learned[last - 1]) --last;
    needed += static_cast<int64_t>(last) - 1;
  }
  const Batch batch = dataset->batch(Split::train, 0, samples);
  CHECK(batch.tokens() == needed);
  CHECK(batch.targets.ne(kIgnoredTarget).sum().item<int64_t>() == batch.counted_targets);
  CHECK(batch.learned.numel() == batch.counted_targets);
  for (const Pack& pack : batch.packs) CHECK(pack.tokens <= kLength);
  const Documents documents = batch.documents();
  const at::Tensor bounds = documents.bounds;
  REQUIRE((bounds.scalar_type() == at::kInt));
  REQUIRE(bounds.numel() == static_cast<int64_t>(documents.lengths.size()) + 1);
  int32_t end = 0;
  for (size_t i = 0; i < documents.lengths.size(); ++i) {
    CHECK(bounds.const_data_ptr<int32_t>()[i] == end);
    end += static_cast<int32_t>(documents.lengths[i]);
  }
  CHECK(bounds.const_data_ptr<int32_t>()[documents.lengths.size()] == end);
  CHECK(end == batch.tokens());
  CHECK(samples <= needed / kLength + 2);
}

TEST_CASE("instruction: a sample depends on the seed and its place alone") {
  const Prepared prepared(fifty_examples());
  const auto dataset = prepared.dataset();
  const int64_t samples = dataset->samples_per_epoch(Split::train);
  const Batch together = dataset->batch(Split::train, samples - 2, 5);
  for (int64_t i = 0; i < 5; ++i) {
    const Batch alone = prepared.dataset()->batch(Split::train, samples - 2 + i, 1);
    const Batch part = together.part(i, 1);
    CHECK(at::equal(alone.inputs, part.inputs));
    CHECK(at::equal(alone.targets, part.targets));
    CHECK(at::equal(alone.positions, part.positions));
    CHECK(at::equal(alone.learned, part.learned));
  }
  const auto first_inputs = [&](int64_t seed, int64_t first) {
    return prepared.dataset("", seed)->batch(Split::train, first, samples).inputs;
  };
  CHECK(at::equal(first_inputs(1, 0), first_inputs(1, 0)));
  CHECK_FALSE(at::equal(first_inputs(1, 0), first_inputs(2, 0)));
  CHECK_FALSE(at::equal(first_inputs(1, 0), first_inputs(1, samples)));  // another epoch
  CHECK(at::equal(std::get<0>(first_inputs(1, 0).sort()),
                  std::get<0>(first_inputs(1, samples).sort())));
}

TEST_CASE(
    "instruction: the mean of validation is over what is learned, or the first tokens of it") {
  const Prepared prepared(fifty_examples());
  const auto dataset = prepared.dataset();
  const int64_t samples = dataset->samples_per_epoch(Split::validation);
  CHECK(dataset->validation_targets(0) == 0);
  const Batch all = dataset->batch(Split::validation, 0, samples);
  CHECK(dataset->validation_targets(samples) == all.counted_targets);
  CHECK(dataset->validation_targets(2) == all.packs[0].learned + all.packs[1].learned);
}

TEST_CASE("instruction: what is too long is truncated, dropped or refused") {
  std::vector<PlainExample> examples = fifty_examples();
  examples.push_back({std::vector<int64_t>(40, 3), std::vector<bool>(40, true)});
  PlainExample late{std::vector<int64_t>(40, 4), std::vector<bool>(40, false)};
  late.learned[30] = true;
  examples.push_back(late);
  const Prepared prepared(examples);
  const auto truncated = prepared.dataset(), dropped = prepared.dataset("too_long = \"drop\"\n");
  const auto packs = [](const Dataset& dataset) {
    return std::to_string(dataset.samples_per_epoch(Split::train));
  };
  CHECK(truncated->remark() == "51 examples (1 truncated to 24 tokens) in " + packs(*truncated) +
                                   " sequences; one example dropped: no response within 24 "
                                   "tokens; sequences of 39 tokens hold all of them whole");
  CHECK(dropped->remark() == "50 examples in " + packs(*dropped) +
                                 " sequences; 2 examples dropped: longer than 24 tokens, or "
                                 "without a response; sequences of 39 tokens hold all of them "
                                 "whole");
  const Prepared hopeless({late});
  CHECK_THROWS_AS(hopeless.dataset(), RecipeError);
}

}  // namespace exprun
