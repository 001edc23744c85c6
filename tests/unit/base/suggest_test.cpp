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
  CHECK(nearest("weight", {"weight_decay"}) == std::nullopt);
  CHECK(nearest("anything", {}) == std::nullopt);
}

TEST_CASE("suggest: a longer word with the same beginning and number") {
  const std::vector<std::string> formats = {"fp32", "tf32", "bf16", "fp16"};
  CHECK(nearest("bfloat16", formats) == "bf16");
  CHECK(nearest("float32", formats) == "fp32");
  CHECK(nearest("float64", formats) == std::nullopt);
  CHECK(nearest("quantised16", {"qx16", "qy16"}) == std::nullopt);  // two
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
