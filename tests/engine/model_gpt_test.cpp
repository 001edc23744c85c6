#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <set>

#include "base/diagnostic.h"
#include "engine/model.h"
#include "layers/rotary.h"
#include "support/sections.h"

using namespace exprun;

namespace {

// Two blocks of width 16, two heads, a context of 8: the examples of the schema.
struct Built {
  explicit Built(const std::string& keys = "", at::Device device = at::kCPU)
      : recipe(recipe_with("model", "gpt", "vocab_size = 11\n" + keys)),
        parameters(device),
        model(Registry<Model>::instance().find("gpt")(recipe.section("model"), parameters)) {
    parameters.initialize(1);
  }

  at::Tensor of(const std::string& name) const {
    const auto* parameter = parameters.find(name);
    REQUIRE_MESSAGE(parameter, name);
    return parameter->tensor;
  }

  ResolvedRecipe recipe;
  ParameterList parameters;
  std::unique_ptr<Model> model;
};

at::Tensor tokens(int64_t batch = 3, int64_t length = 8) {
  return at::randint(11, {batch, length}, at::kLong);
}

double spread(const at::Tensor& tensor) {
  return tensor.std().item<double>();
}

}  // namespace

TEST_CASE("gpt: parameters have the names and classes that recipes match") {
  const Built built;
  std::set<std::string> names;
  for (const auto& parameter : built.parameters.items()) names.insert(parameter.name);
  CHECK(names.size() == 2 + 2 * 12 + 2);
  for (const char* name :
       {"token_embedding.weight", "position_embedding.weight", "blocks.0.attention_norm.weight",
        "blocks.0.attention_norm.bias", "blocks.1.attention.query_key_value.weight",
        "blocks.1.attention.query_key_value.bias", "blocks.1.attention.output_projection.weight",
        "blocks.1.feed_forward_norm.weight", "blocks.1.feed_forward.up_projection.weight",
        "blocks.1.feed_forward.down_projection.bias", "final_norm.weight", "final_norm.bias"})
    CHECK_MESSAGE(names.count(name), name);
  CHECK(built.parameters.find("token_embedding.weight")->kind == ParameterClass::embedding);
  CHECK(built.parameters.find("final_norm.weight")->kind == ParameterClass::vector);
  CHECK(built.parameters.find("blocks.0.feed_forward.up_projection.weight")->kind ==
        ParameterClass::matrix);
}

TEST_CASE("gpt: without bias, and with a head of its own") {
  const Built built("bias = false\ntie_embeddings = false\n");
  CHECK(built.parameters.items().size() == 2 + 2 * 6 + 1 + 1);
  CHECK(built.of("head.weight").sizes() == at::IntArrayRef({11, 16}));
}

TEST_CASE("gpt: residual projections start smaller by sqrt(2 num_layers)") {
  const Built built("hidden_size = 128\ninitialization = { std = 0.1 }\n");
  CHECK(spread(built.of("blocks.0.feed_forward.up_projection.weight")) ==
        doctest::Approx(0.1).epsilon(0.02));
  CHECK(spread(built.of("blocks.0.feed_forward.down_projection.weight")) ==
        doctest::Approx(0.05).epsilon(0.02));
  CHECK(spread(built.of("blocks.1.attention.output_projection.weight")) ==
        doctest::Approx(0.05).epsilon(0.02));
  CHECK(at::equal(built.of("final_norm.weight"), at::ones_like(built.of("final_norm.weight"))));
}

TEST_CASE("gpt: the loss is the cross entropy of the logits") {
  for (const char* keys : {"", "bias = false\nactivation = \"gelu_tanh\"\n",
                           "tie_embeddings = false\nvocab_multiple = 16\n"}) {
    Built built(keys);
    const auto inputs = tokens();
    auto targets = tokens();
    targets[0][3] = kIgnoredTarget;
    const auto logits = built.model->logits(inputs);
    CHECK(logits.sizes() == at::IntArrayRef({3, 8, 11}));
    const auto expected = at::cross_entropy_loss(logits.reshape({-1, 11}), targets.reshape({-1}),
                                                 {}, /*reduction=sum*/ 2, kIgnoredTarget);
    CHECK(built.model->loss_sum(inputs, targets).item<double>() ==
          doctest::Approx(expected.item<double>()).epsilon(1e-5));
  }
}

TEST_CASE("gpt: padded rows of the vocabulary take no part") {
  Built built("vocab_multiple = 16\n");
  CHECK(built.of("token_embedding.weight").size(0) == 16);
  CHECK(built.model->vocab_size() == 11);
  const auto inputs = tokens(), targets = tokens();
  const auto loss = built.model->loss_sum(inputs, targets);
  loss.backward();
  const auto gradient = built.of("token_embedding.weight").grad();
  CHECK(gradient.narrow(0, 11, 5).abs().max().item<double>() == 0);
  CHECK(gradient.narrow(0, 0, 11).abs().max().item<double>() > 0);
  const at::NoGradGuard no_grad;
  built.of("token_embedding.weight").narrow(0, 11, 5).fill_(100);
  CHECK(built.model->loss_sum(inputs, targets).item<double>() == loss.item<double>());
}

TEST_CASE("gpt: a position sees nothing behind it") {
  Built built;
  const auto inputs = tokens(1);
  auto changed = inputs.clone();
  changed[0][5] = (inputs[0][5] + 1).remainder(11);
  const auto before = built.model->logits(inputs), after = built.model->logits(changed);
  CHECK(at::allclose(before.narrow(1, 0, 5), after.narrow(1, 0, 5), 0, 1e-6));
  CHECK_FALSE(at::allclose(before.narrow(1, 5, 1), after.narrow(1, 5, 1), 0, 1e-6));
}

// Each changes something; together they are the parts of five systems.
const char* const kParts[] = {
    "",
    "norm = { type = \"rms_norm\", weight = \"one_plus\", eps = 1e-6 }\n",
    "norm = { type = \"rms_norm\", weight = false, eps = \"input_dtype\" }\n",
    "norm = { weight = false }\n",
    "norm = { weight = \"one_plus\" }\n",
    "position = { type = \"rotary\" }\n",
    "position = { type = \"rotary\", layout = \"interleaved\", rope_theta = 50.0 }\n",
    "position = { type = \"none\" }\n",
    "qk_norm = true\n",
    "query_key_value = \"separate\"\n",
    "num_key_value_heads = 1\n",
    "num_key_value_heads = 1\nquery_key_value = \"separate\"\nposition = { type = \"rotary\" }\n",
    "output_projection = false\n",
    "embedding_norm = true\n",
    "activation = \"relu_squared\"\n",
    "activation = \"swiglu\"\nfeed_forward_size = 12\n",
    "position = { type = \"rotary\", direction = \"counter_clockwise\", rope_theta = 50.0 }\n",
    "position = { type = \"rotary\", rope_scaling = { type = \"linear\", factor = 3.0 } }\n",
    "head_dim = 6\n",
    "head_dim = 6\nnum_key_value_heads = 1\nposition = { type = \"rotary\" }\n",
    "qk_norm = \"per_head\"\n",
    "qk_norm = \"projection\"\nnum_key_value_heads = 1\nquery_key_value = \"separate\"\n",
    "norm = { type = \"rms_norm\", placement = \"post\" }\n",
    "sliding_window = 3\n",
    "sliding_window = 3\nnum_key_value_heads = 1\n",
    "logit_softcap = 2.0\ntie_embeddings = false\nvocab_multiple = 16\n",
    "bias = [\"feed_forward\", \"norm\"]\n"};

TEST_CASE("gpt: with a cache the same logits, whatever the parts") {
  const at::NoGradGuard no_grad;
  for (const std::string parts : kParts) {
    INFO(parts);
    Built built("initialization = { std = 0.5 }\n" + parts);
    built.model->set_training(false);
    REQUIRE(built.model->has_cache());
    const auto inputs = tokens(2);
    const auto expected = built.model->logits(inputs);
    for (const int64_t prompt : {1, 4, 8}) {
      KeyValueCache cache{8, 0, {}};
      auto logits = built.model->next_logits(inputs.narrow(1, 0, prompt), cache);
      for (int64_t at = prompt;; ++at) {
        CHECK(at::allclose(logits, expected.select(1, at - 1), 1e-5, 1e-5));
        if (at == 8) break;
        logits = built.model->next_logits(inputs.narrow(1, at, 1), cache);
      }
      CHECK(cache.length == 8);
      CHECK_THROWS_AS(built.model->next_logits(inputs.narrow(1, 0, 1), cache), std::logic_error);
    }
  }
}

TEST_CASE("gpt: gradients are those of finite differences, whatever the parts") {
  for (const std::string parts : kParts) {
    INFO(parts);
    Built built("hidden_size = 8\ninitialization = { std = 0.5 }\n" + parts);
    const auto inputs = tokens(2), targets = tokens(2);
    built.model->loss_sum(inputs, targets).backward();
    const at::NoGradGuard no_grad;
    for (const auto& parameter : built.parameters.items()) {
      auto value = parameter.tensor.view({-1})[1];
      const double slope = parameter.tensor.grad().view({-1})[1].item<double>();
      const double original = value.item<double>(), step = 3e-3;
      const auto loss_at = [&](double x) {
        value.fill_(x);
        return built.model->loss_sum(inputs, targets).item<double>();
      };
      const auto quotient = [&](double h) {
        return (loss_at(original + h) - loss_at(original - h)) / (2 * h);
      };
      // Without the error of second order (Richardson).
      const double measured = (4 * quotient(step / 2) - quotient(step)) / 3;
      value.fill_(original);
      INFO(parameter.name);
      CHECK(std::abs(measured - slope) < 1e-2 * std::max(1.0, std::abs(slope)));
    }
  }
}

// As in a run, whose gradients are there before backward adds to them: of a tied weight those of
// both uses.
TEST_CASE("gpt: gradients are added to those that are there") {
  for (const std::string parts : kParts) {
    INFO(parts);
    const std::string keys = "hidden_size = 8\ninitialization = { std = 0.5 }\n" + parts;
    Built once(keys), twice(keys);
    const auto inputs = tokens(2), targets = tokens(2);
    once.model->loss_sum(inputs, targets).backward();
    for (const auto& parameter : twice.parameters.items())
      parameter.tensor.mutable_grad() = at::ones_like(parameter.tensor);
    for (int i = 0; i < 2; ++i) twice.model->loss_sum(inputs, targets).backward();
    for (const auto& parameter : once.parameters.items()) {
      INFO(parameter.name);
      const auto& sum = twice.parameters.find(parameter.name)->tensor.grad();
      CHECK_FALSE(sum.is_sparse());
      CHECK(at::allclose(sum, parameter.tensor.grad().mul(2).add(1), 1e-4, 1e-5));
    }
  }
}

TEST_CASE("gpt: every part changes the model") {
  const auto inputs = tokens(2);
  std::vector<at::Tensor> seen;
  for (const std::string parts : kParts) {
    // A weight of ones and biases of zero are not told from none before training.
    if (parts.starts_with("norm = { weight") || parts.starts_with("bias") ||
        parts.starts_with("qk_norm = \"per_head"))
      continue;
    INFO(parts);
    Built built("initialization = { std = 0.3 }\n" + parts);
    seen.push_back(built.model->logits(inputs).detach());
    for (size_t i = 0; i + 1 < seen.size(); ++i)
      CHECK_FALSE(at::allclose(seen.back(), seen[i], 1e-6, 1e-6));
  }
}

TEST_CASE("gpt: parts have the parameters that they use, and no others") {
  const auto names = [](const std::string& keys) {
    const Built built(keys);
    std::set<std::string> names;
    for (const auto& parameter : built.parameters.items())
      if (parameter.name.starts_with("blocks.0.") || !parameter.name.starts_with("blocks."))
        names.insert(parameter.name);
    return names;
  };
  CHECK(names("output_projection = false\nquery_key_value = \"separate\"\ntie_embeddings = false\n"
              "bias = [\"feed_forward\"]\nnorm = { type = \"rms_norm\", weight = false }\n"
              "position = { type = \"rotary\" }\nactivation = \"swiglu\"\n") ==
        std::set<std::string>{"token_embedding.weight", "head.weight",
                              "blocks.0.attention.query.weight", "blocks.0.attention.key.weight",
                              "blocks.0.attention.value.weight",
                              "blocks.0.feed_forward.up_projection.weight",
                              "blocks.0.feed_forward.up_projection.bias",
                              "blocks.0.feed_forward.gate_projection.weight",
                              "blocks.0.feed_forward.gate_projection.bias",
                              "blocks.0.feed_forward.down_projection.weight",
                              "blocks.0.feed_forward.down_projection.bias"});
  const Built shared("num_key_value_heads = 1\n");
  CHECK(shared.of("blocks.0.attention.query_key_value.weight").sizes() ==
        at::IntArrayRef({16 + 2 * 8, 16}));
}

TEST_CASE("gpt: weights start as the scheme says") {
  const Built built(
      "initialization = { scheme = \"pytorch\", zero = [\"*.down_projection.*\"] }\n"
      "hidden_size = 64\n");
  CHECK(spread(built.of("token_embedding.weight")) == doctest::Approx(1).epsilon(0.1));
  const auto up = built.of("blocks.0.feed_forward.up_projection.weight");
  CHECK(up.abs().max().item<double>() <= 1 / 8.0);
  CHECK(up.abs().max().item<double>() > 0.99 / 8.0);
  CHECK(built.of("blocks.1.feed_forward.down_projection.weight").abs().max().item<double>() == 0);
  CHECK(built.of("blocks.1.feed_forward.down_projection.bias").abs().max().item<double>() == 0);
  CHECK_THROWS_WITH_AS(Built("initialization = { zero = [\"heads.*\"] }\n"),
                       doctest::Contains("no parameter of the model matches 'heads.*'"),
                       RecipeError);
}

TEST_CASE("rotary: the half-split turn is modded-nanogpt's") {
  const auto x = at::arange(32, at::kFloat).div(10).view({1, 4, 1, 8});
  const auto turned = Rotary(RotarySettings{}, 8)(x).select(1, 1).flatten();
  const std::vector<float> expected = {1.4420069f, 1.0252872f, 1.0139499f, 1.1014994f,
                                       -.024814f,  1.2036554f, 1.3899301f, 1.4988992f};
  CHECK(at::allclose(turned, at::tensor(expected), 0, 1e-6));
}

// transformers' apply_rotary_pos_emb: x cos + rotate_half(x) sin with rotate_half (-b, a).
TEST_CASE("rotary: the half-split turn counter-clockwise is HuggingFace's") {
  const auto x = at::arange(32, at::kFloat).div(10).view({1, 4, 1, 8});
  RotarySettings settings;
  settings.direction = RotarySettings::Direction::counter_clockwise;
  const auto turned = Rotary(settings, 8)(x);
  for (int64_t t = 0; t < 4; ++t)
    for (int64_t i = 0; i < 4; ++i) {
      const double angle = static_cast<double>(t) * std::pow(10000.0, -2.0 * double(i) / 8);
      const double a = x[0][t][0][i].item<double>(), b = x[0][t][0][i + 4].item<double>();
      CHECK(turned[0][t][0][i].item<double>() ==
            doctest::Approx(a * std::cos(angle) - b * std::sin(angle)).epsilon(1e-6));
      CHECK(turned[0][t][0][i + 4].item<double>() ==
            doctest::Approx(b * std::cos(angle) + a * std::sin(angle)).epsilon(1e-6));
    }
}

// Llama 3.1's rule, written out for one frequency.
TEST_CASE("rotary: llama3 scales long wavelengths, keeps short ones, and blends between") {
  RotarySettings settings;
  settings.layout = RotarySettings::Layout::interleaved;
  settings.direction = RotarySettings::Direction::counter_clockwise;
  settings.scaling = {RopeScaling::Form::llama3, 8, 1, 4, 100};
  const auto turned = Rotary(settings, 16)(at::tensor({1.F, 0.F}).repeat({1, 6, 1, 8}));
  int kept = 0, scaled = 0, blended = 0;
  for (int64_t i = 0; i < 8; ++i) {
    const double frequency = std::pow(10000.0, -double(i) / 8);
    const double wavelength = 2 * 3.14159265358979 / frequency;
    double expected = frequency;
    if (wavelength > 100.0 / 1) {
      expected = frequency / 8;
      ++scaled;
    } else if (wavelength >= 100.0 / 4) {
      const double smooth = (100 / wavelength - 1) / (4 - 1);
      expected = (1 - smooth) * frequency / 8 + smooth * frequency;
      ++blended;
    } else {
      ++kept;
    }
    CHECK(turned[0][5][0][2 * i].item<double>() ==
          doctest::Approx(std::cos(5 * expected)).epsilon(1e-6));
    CHECK(turned[0][5][0][2 * i + 1].item<double>() ==
          doctest::Approx(std::sin(5 * expected)).epsilon(1e-5));
  }
  CHECK(kept > 0);
  CHECK(scaled > 0);
  CHECK(blended > 0);
}

TEST_CASE("gpt: with a sliding window a position sees the tokens of the window, and no others") {
  Built built("num_layers = 1\nsliding_window = 3\n");
  const auto inputs = tokens(1);
  auto changed = inputs.clone();
  changed[0][2] = (inputs[0][2] + 1).remainder(11);
  const auto moved =
      built.model->logits(inputs).sub(built.model->logits(changed)).abs().amax(-1).flatten();
  for (int64_t t = 0; t < 8; ++t) {
    INFO(t);
    CHECK((moved[t].item<double>() > 1e-6) == (t >= 2 && t <= 4));
  }
}

TEST_CASE("gpt: heads of a width of their own, and norms of queries and keys, have their shapes") {
  const Built per_head("head_dim = 6\nnum_key_value_heads = 1\nqk_norm = \"per_head\"\n");
  CHECK(per_head.of("blocks.0.attention.query_key_value.weight").sizes() ==
        at::IntArrayRef({2 * 6 + 2 * 6, 16}));
  CHECK(per_head.of("blocks.0.attention.output_projection.weight").sizes() ==
        at::IntArrayRef({16, 12}));
  CHECK(per_head.of("blocks.0.attention.query_norm.weight").sizes() == at::IntArrayRef({6}));
  const Built whole("head_dim = 6\nnum_key_value_heads = 1\nqk_norm = \"projection\"\n");
  CHECK(whole.of("blocks.0.attention.query_norm.weight").sizes() == at::IntArrayRef({12}));
  CHECK(whole.of("blocks.1.attention.key_norm.weight").sizes() == at::IntArrayRef({6}));
}

TEST_CASE("gpt: swiglu is 8/3 as wide as the model, rounded up to a multiple") {
  const auto width = [](const std::string& keys) {
    return Built("activation = \"swiglu\"\nhidden_size = 64\n" + keys)
        .of("blocks.0.feed_forward.gate_projection.weight")
        .size(0);
  };
  CHECK(width("") == 192);
  CHECK(width("feed_forward_multiple = 1\n") == 170);
  CHECK(width("feed_forward_multiple = 32\n") == 192);
  CHECK(width("feed_forward_multiple = 32\nfeed_forward_size = 100\n") == 100);
}

TEST_CASE("gpt: dropout acts in training only") {
  Built built("dropout = 0.5\n");
  const auto inputs = tokens();
  built.model->set_training(false);
  CHECK(at::equal(built.model->logits(inputs), built.model->logits(inputs)));
  built.model->set_training(true);
  CHECK_FALSE(at::equal(built.model->logits(inputs), built.model->logits(inputs)));
}

TEST_CASE("gpt: weights are a function of seed and name alone") {
  Built small, untied("tie_embeddings = false\n");
  const std::string name = "blocks.1.attention.query_key_value.weight";
  CHECK(at::equal(small.of(name), untied.of(name)));
  const auto first = small.of(name).clone();
  small.parameters.initialize(2);
  CHECK_FALSE(at::equal(small.of(name), first));
  small.parameters.initialize(1);
  CHECK(at::equal(small.of(name), first));
}

TEST_CASE("gpt: on the meta device nothing is allocated, and the plan is the same") {
  const Built real, meta("", at::kMeta);
  CHECK(meta.parameters.count() == real.parameters.count());
  CHECK(meta.of("final_norm.weight").is_meta());
}

TEST_CASE("gpt: flops are 6N + 12LCT, without positions, as PaLM counts them") {
  const Built built("bias = false\n");
  // N: 11 * 16 embeddings, 2 blocks of 12 * 16^2 + 2 * 16, a final norm of 16.
  const double parameters = 11 * 16 + 2 * (12 * 256 + 32) + 16;
  CHECK(built.model->flops_per_token(8) == 6 * parameters + 12 * 2 * 16 * 8);
  CHECK(built.model->activation_bytes(1, 8, at::kCPU) > 0);
}

TEST_CASE("gpt: what a feed-forward keeps for backward is without values that are computed again") {
  const auto bytes = [](const std::string& activation) {
    const std::string hidden = "feed_forward_size = 40\n";
    return Built(hidden + "activation = '" + activation + "'\n")
        .model->activation_bytes(1, 8, at::kCPU);
  };
  const double hidden = 2.0 * 40 * 8 * sizeof(float);      // of two blocks, a row of 8 tokens
  CHECK(bytes("gelu") - bytes("relu_squared") == hidden);  // squared ReLU keeps its input alone
  CHECK(bytes("swiglu") == bytes("gelu"));                 // two inputs, or one and the value
}
