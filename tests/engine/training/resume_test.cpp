// A run that was stopped anywhere and resumed ends with the same bits as one that was not.
#include <doctest/doctest.h>

#include "base/files/checkpoints.h"
#include "engine/checkpoint/open_checkpoint.h"
#include "engine/tiny_run.h"
#include "tests/engine/training/exact_resume.h"

namespace exprun {
namespace {

TEST_CASE("resume: stopped anywhere and continued, every tensor and series is equal") {
  check_exact({}, 4);
}

TEST_CASE("resume: with every optimizer at once") {
  check_exact({R"(optimizer.groups.matrices={match=["*projection.weight"],type="muon",lr=1e-3})",
               R"(optimizer.groups.positions={match=["position*"],type="lion",lr=1e-4})",
               R"(optimizer.groups.norms={match=["*norm.weight"],type="sgd",lr=1e-2})",
               R"(optimizer.groups.biases={match=["*.bias"],type="adam",lr=1e-3})"},
              1);
}

TEST_CASE("resume: in bf16 with stochastic rounding, and in fp16 with its loss scale") {
  check_exact({"precision.parameters='bf16'", "precision.compute='bf16'",
               "precision.stochastic_rounding=true",
               R"(optimizer.groups.matrices={match=["*projection.weight"],type="muon",lr=1e-3})"},
              1);
  check_exact({"precision.parameters='bf16'", "precision.compute='bf16'",
               "precision.optimizer_state='bf16'"},
              1);
  check_exact({"precision.compute='fp16'"}, 1);
}

TEST_CASE("resume: with frozen parameters") {
  check_exact({R"(optimizer.frozen=["token_embedding.*", "blocks.0.*"])"}, 1);
}

TEST_CASE("resume: with adapters, and with activations that are computed again") {
  check_exact({"model.lora={rank=2, dropout=0.2}"}, 1);
  check_exact({R"(model.lora={rank=2, trained=["token_embedding.*", "blocks.*norm*"]})"}, 1);
  check_exact({"model.checkpoint_activations=true"}, 1);
}

TEST_CASE("resume: with packed examples") {
  check_exact(kOfExamples, 2);
}

TEST_CASE("resume: an early stop comes at the same step") {
  check_exact({"run.early_stop={patience=3, min_delta=0.5}", "evaluation.val_loss.every='2 steps'"},
              1);
}

TEST_CASE("resume: without its newest checkpoint a run repeats steps to the same bits") {
  const TinyRun run;
  MemoryRecorder first, again;
  const auto tensors = make_attempt(run, first).tensors;
  const auto found = complete_checkpoints(RunFolder{run.folder()});
  REQUIRE(found.size() == 2);
  CHECK(found[1].step == 35);
  std::filesystem::remove_all(found[0].path);
  check_equal(tensors, make_attempt(run, again).tensors);
  const auto before = first.series();
  for (const auto& [name, values] : again.series()) {
    const auto& all = before.at(name);
    CHECK(std::vector(all.end() - static_cast<int64_t>(values.size()), all.end()) == values);
  }
}

TEST_CASE("resume: what may change bits is said") {
  const NumericEnvironment then{2, "AVX512", "2.11.0", "mkl", "3.10.2"};
  CHECK(bits_may_differ(then, then).empty());
  NumericEnvironment now = then;
  now.instruction_set = "AVX2";
  now.libtorch = "2.12.0";
  CHECK(bits_may_differ(then, now) ==
        "results may not be bit-identical to those of an uninterrupted run; LibTorch was 2.11.0 "
        "and is now 2.12.0; the instruction set was AVX512 and is now AVX2");
}

}  // namespace
}  // namespace exprun
