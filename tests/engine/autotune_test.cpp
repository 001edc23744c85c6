// Which of several kernels computes: measured once, kept with the run, the same on all ranks.
#include "engine/autotune/autotune.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "engine/autotune/run_kernels.h"
#include "engine/tiny_run.h"
#include "kernels/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/layer_norm.h"
#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "kernels/rotation.h"
#include "support/rank_threads.h"
#include "support/temporary_folder.h"

namespace exprun {
namespace {

// As a new process on a machine where nothing was measured.
class FreshMachine {
 public:
  FreshMachine() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache) before_ = cache;
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    autotune::reset();
  }
  FreshMachine(const FreshMachine&) = delete;
  ~FreshMachine() {
    if (before_)
      ::setenv("XDG_CACHE_HOME", before_->c_str(), 1);
    else
      ::unsetenv("XDG_CACHE_HOME");
    autotune::reset();
  }

 private:
  TemporaryFolder folder_;
  std::optional<std::string> before_;
};

// Of two ways, the second one at once; the first takes a time that no noise makes up for.
size_t choose_the_quick_one(int& computed, int64_t size = 5) {
  return autotune::choose({"test", {size, 3}}, {"slow", "quick"}, [&](size_t index) {
    ++computed;
    if (index == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
}

at::Tensor some(at::IntArrayRef sizes) {
  return at::randn(sizes);
}

}  // namespace

TEST_CASE("autotune: the fastest is measured once, also for later processes on this machine") {
  const FreshMachine fresh;
  int computed = 0;
  CHECK(choose_the_quick_one(computed) == 1);
  CHECK(computed > 0);
  CHECK(autotune::save() == nlohmann::json{{"test 5x3", "quick"}});
  computed = 0;
  CHECK(choose_the_quick_one(computed) == 1);
  autotune::reset();  // as a new process
  CHECK(choose_the_quick_one(computed) == 1);
  CHECK(autotune::save().at("test 5x3") == "quick");
  CHECK(computed == 0);
  choose_the_quick_one(computed, 6);
  CHECK(computed > 0);
}

TEST_CASE("autotune: a hopeless way is computed once only") {
  const FreshMachine fresh;
  int hopeless = 0;
  CHECK(autotune::choose({"test", {8}}, {"hopeless", "quick"}, [&](size_t index) {
          if (index == 1) return;
          ++hopeless;
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
        }) == 1);
  CHECK(hopeless == 1);
}

TEST_CASE("autotune: choices of an earlier attempt are kept over measuring, if they are known") {
  const FreshMachine fresh;
  int computed = 0;
  autotune::load({{"test 5x3", "slow"}, {"test 6x3", "nonsense"}, {"test 7x3", 7}});
  CHECK(choose_the_quick_one(computed, 5) == 0);
  CHECK(computed == 0);
  CHECK(choose_the_quick_one(computed, 6) == 1);
  CHECK(choose_the_quick_one(computed, 7) == 1);
  autotune::load({{"test 6x3", "slow"}});
  CHECK(choose_the_quick_one(computed, 6) == 0);
  autotune::load(nlohmann::json::array({1, 2}));
  CHECK(autotune::save() ==
        nlohmann::json{{"test 5x3", "slow"}, {"test 6x3", "slow"}, {"test 7x3", "quick"}});
}

TEST_CASE("autotune: a frozen process takes the first way, a sealed one for what is not chosen") {
  const FreshMachine fresh;
  int computed = 0;
  autotune::load({{"test 5x3", "quick"}});
  autotune::seal();
  CHECK(autotune::sealed());
  CHECK(choose_the_quick_one(computed, 5) == 1);
  CHECK(choose_the_quick_one(computed, 6) == 0);
  CHECK(autotune::save().at("test 6x3") == "slow");  // an evaluation of the run takes the same
  autotune::freeze();
  CHECK(autotune::frozen());
  CHECK(choose_the_quick_one(computed, 5) == 0);
  CHECK(computed == 0);
  autotune::reset();
  CHECK_FALSE(autotune::frozen());
  CHECK_FALSE(autotune::sealed());
  CHECK(choose_the_quick_one(computed, 6) == 1);
}

TEST_CASE("autotune: every kernel that has two ways is measured, forward and backward") {
  const FreshMachine fresh;
  const auto grad = [](at::Tensor x) { return x.set_requires_grad(true); };
  linear(grad(some({5, 6})), grad(some({7, 6})), some({7})).sum().backward();
  activation(some({3, 5}), ActivationForm::gelu);
  activation(some({3, 5}), ActivationForm::gelu_tanh);
  layer_norm(some({5, 8}), some({8}), some({8}), 1e-5);
  rms_norm(some({5, 8}), some({8}), 0, 1e-5);
  rms_norm(some({5, 8}), {}, 0, 1e-5);
  causal_attention(some({3, 5, 24}), 2, 0);
  {
    const at::NoGradGuard evaluating;
    causal_attention(some({3, 9, 4, 8}), some({3, 9, 2, 8}), some({3, 9, 2, 8}), 0);
  }
  swiglu(some({3, 5}), some({3, 5}));
  activation(some({3, 5}), ActivationForm::relu_squared);
  for (const auto pairs : {ChannelPairs::halves, ChannelPairs::neighbours})
    rotate(some({2, 5, 3, 4}), some({1, 5, 1, 2}), some({1, 5, 1, 2}), pairs);
  const auto narrow = [](at::IntArrayRef sizes) { return some(sizes).to(at::kBFloat16); };
  linear(narrow({5, 6}), narrow({7, 6}));
  batched_product(narrow({2, 5, 6}), narrow({2, 6, 7}));
  causal_attention(narrow({3, 5, 24}), 2, 0);
  activation(narrow({3, 5}), ActivationForm::gelu);
  auto logits = some({5, 12});
  cross_entropy_in_place(logits, at::zeros({5}, at::kLong), 11, 1);
  const auto chosen = autotune::save();
  for (const char* key :
       {"forward 8x6x7", "input_gradient 8x6x7", "weight_gradient 8x6x7", "gelu 16", "gelu_tanh 16",
        "layer_norm 8x8", "rms_norm 8x8", "rms_norm_bare 8x8", "attention 4x8x2x2x4",
        "attention 4x16x4x2x8", "swiglu 16", "relu_squared 16", "rotate_halves 16x3x4",
        "rotate_neighbours 16x3x4", "forward_bf16 8x6x7", "batched_product_bf16 2x5x6x7",
        "attention_bf16 4x8x2x2x4", "gelu_bf16 16", "cross_entropy 8x12"})
    CHECK_MESSAGE(chosen.contains(key), key);
}

TEST_CASE("autotune: both ways of a kernel give the same within rounding, as chosen") {
  const FreshMachine fresh;
  const auto x = some({2, 40, 48});
  for (const char* name : {"exprun", "aten"}) {
    autotune::load({{"attention 2x64x2x2x8", name}});
    const auto expected = name == std::string("exprun") ? causal_attention_ours(x, 2)
                                                        : causal_attention_aten(x, 2, 0);
    CHECK(at::equal(causal_attention(x, 2, 0), expected));
  }
}

TEST_CASE("kernels of a run: a file of an earlier attempt is taken over and kept") {
  const FreshMachine fresh;
  const TemporaryFolder folder;
  const auto file = folder.write("kernels.json", R"({"forward 7919x3x5": "onednn"})");
  KernelFile choices(file);
  choices.keep();
  CHECK(autotune::save().at("forward 7919x3x5") == "onednn");
  CHECK(nlohmann::json::parse(read_file(file)) == autotune::save());
}

TEST_CASE("kernels of a run: what the file has already is not written again") {
  const FreshMachine fresh;
  const TemporaryFolder folder;
  autotune::load({{"forward 7919x3x5", "onednn"}});
  const auto file = folder.write("kernels.json", autotune::save().dump());
  KernelFile choices(file);
  std::filesystem::remove(file);
  choices.keep();
  CHECK_FALSE(std::filesystem::exists(file));

  std::filesystem::remove_all(folder.path());
  autotune::load({{"forward 7919x3x7", "onednn"}});
  CHECK_NOTHROW(choices.keep());  // a warning: the file of the earlier attempt was there
}

TEST_CASE("kernels of a run: a damaged file and a place that cannot be written to are errors") {
  const FreshMachine fresh;
  const TemporaryFolder folder;
  const auto file = folder.write("kernels.json", "{");
  CHECK_THROWS_WITH_AS(KernelFile{file},
                       ("kernels: '" + file.string() +
                        "' is damaged; remove it: the newest checkpoint has the same content")
                           .c_str(),
                       Error);
  autotune::load({{"forward 7919x3x5", "onednn"}});
  KernelFile nowhere(folder.path() / "missing" / "kernels.json");
  CHECK_THROWS_AS(nowhere.keep(), Error);
}

TEST_CASE("kernels of a run: what another number of ranks has not chosen is measured") {
  const FreshMachine fresh;
  autotune::load({{"forward 64x32x96", "onednn"}});  // of micro-batches of four sequences
  const TinyRun run({"parallelism.world_size=2", "batch.micro_batch=2"});
  on_ranks(2, [&](const auto& group, Rendezvous& rendezvous) {
    agree_on_kernels(rendezvous, run.build(group));
  });
  CHECK(autotune::sealed());
  const auto agreed = autotune::save();
  CHECK(agreed.at("forward 64x32x96") == "onednn");
  for (const char* product : {"forward", "input_gradient", "weight_gradient"})
    CHECK(agreed.contains(std::string(product) + " 32x32x96"));
}

}  // namespace exprun
