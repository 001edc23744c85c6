#include "base/suggest.h"

#include <doctest/doctest.h>

using namespace exprun;

TEST_CASE("suggest: insertion, deletion, substitution and swap count one") {
  const std::vector<std::string> names = {"lr", "betas", "weight_decay", "max_grad_norm"};
  CHECK(nearest("weigth_decay", names) == "weight_decay");
  CHECK(nearest("lrr", names) == "lr");
  CHECK(nearest("beta", names) == "betas");
  CHECK(nearest("bettas", names) == "betas");
  CHECK(nearest("max_gradnorm", names) == "max_grad_norm");
  CHECK(nearest("wight_dekay", names) == "weight_decay");
  CHECK(nearest("LR", names) == "lr");  // capitals count nothing
}

TEST_CASE("suggest: nothing that is too far") {
  CHECK(nearest("zzz", {"lr", "eps"}) == std::nullopt);
  CHECK(nearest("ab", {"cd"}) == std::nullopt);
  CHECK(nearest("ab", {"ac"}) == std::nullopt);  // half of the name
  CHECK(nearest("height", {"weight_decay"}) == std::nullopt);
  CHECK(nearest("weight", {"weight_decay", "lr"}) == "weight_decay");  // it begins with it
  CHECK(nearest("weight", {"weight_decay", "weight_scale"}) == std::nullopt);
  CHECK(nearest("we", {"weight_decay"}) == std::nullopt);
  CHECK(nearest("anything", {}) == std::nullopt);
}

TEST_CASE("suggest: a longer word with the same beginning and number") {
  const std::vector<std::string> formats = {"fp32", "tf32", "bf16", "fp16"};
  CHECK(nearest("bfloat16", formats) == "bf16");
  CHECK(nearest("float32", formats) == "fp32");
  CHECK(nearest("float64", formats) == std::nullopt);
  CHECK(nearest("quantised16", {"qx16", "qy16"}) == std::nullopt);  // two
}

TEST_CASE("suggest: the choice that a word begins, or that begins it") {
  const std::vector<std::string> activations = {"gelu", "gelu_tanh", "relu_squared", "swiglu"};
  CHECK(choice_meant("relu", activations) == "relu_squared");  // "gelu" is nearer
  CHECK(choice_meant("ReLU", activations) == "relu_squared");
  CHECK(choice_meant("gel", activations) == "gelu");  // two begin so: the nearest
  const std::vector<std::string> optimizers = {"adam", "adamw", "sgd"};
  CHECK(choice_meant("adamw_torch", optimizers) == "adamw");
  CHECK(choice_meant("adamax_8bit", optimizers) == std::nullopt);
  CHECK(choice_meant("gpu", {"cpu", "cuda"}) == "cuda");
}

TEST_CASE("suggest: the only name that has the word at an end") {
  CHECK(name_meant("layers", {"num_layers", "num_heads"}) == "num_layers");
  CHECK(name_meant("sequence", {"sequence_length", "sequences"}) == "sequences");
  CHECK(name_meant("keep", {"keep_last", "every"}) == "keep_last");
  CHECK(name_meant("heads", {"num_heads", "num_key_value_heads"}) == std::nullopt);
  CHECK(name_meant("eads", {"num_heads"}) == std::nullopt);
}

TEST_CASE("suggest: an option's other name, where the command has the option") {
  CHECK(option_synonym("--top", {"--sort", "--limit"}) == "--limit");
  CHECK(option_synonym("--top", {"--sort"}) == std::nullopt);
  CHECK(option_synonym("--sort", {"--sort", "--limit"}) == std::nullopt);
}

TEST_CASE("suggest: the nearest wins, then the first") {
  CHECK(nearest("stepp", {"stepps", "steps", "step"}) == "stepps");
  CHECK(nearest("every", {"everyy", "every"}) == "every");
}
