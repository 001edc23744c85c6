#include "engine/rank_attempt.h"

#include <cmath>

#include "base/log.h"
#include "base/processor.h"
#include "dist/gloo.h"
#include "engine/format_support.h"
#include "engine/kernel_choices.h"
#include "engine/resume.h"
#include "engine/summary.h"

namespace exprun {

namespace {

std::optional<CheckpointState> state_of(const HandOver& hand_over, const ResolvedRecipe& recipe) {
  if (!hand_over.checkpoint) return std::nullopt;
  return open_checkpoint(*hand_over.checkpoint, recipe.hash(), hand_over.data.fingerprint);
}

// A checkpoint goes on with the threads that it was made with, if with as many ranks.
int thread_count(const ResolvedRecipe& recipe, const std::optional<CheckpointState>& checkpoint,
                 int world_size, int cores) {
  if (checkpoint && checkpoint->machine.world_size == world_size)
    return checkpoint->machine.threads;
  const auto* threads = recipe.find("run.threads")->as<int64_t>();
  return threads ? static_cast<int>(*threads) : cores;
}

std::shared_ptr<ProcessGroup> connected(const ResolvedRecipe& recipe, Rendezvous* rendezvous) {
  if (!rendezvous) return single_process();
  const auto timeout = recipe.section("parallelism").get<Period>("timeout");
  return gloo_group(*rendezvous, std::chrono::milliseconds(std::llround(1000 * timeout.count)));
}

void warn_of_what_is_slow(const ResolvedRecipe& recipe, const Machine& machine) {
  if (const auto slow = check_formats(recipe.section("precision"), processor_flags()))
    log_warning(*slow);
  if (machine.blas == "generic")
    log_warning(
        "this LibTorch has a generic BLAS: training is 20 to 45 times slower than with MKL");
}

}  // namespace

void choose_kernels(const ResolvedRecipe& recipe,
                    const std::optional<CheckpointState>& checkpoint) {
  if (recipe.section("run").get<bool>("deterministic")) kernel_choices::fix();
  if (checkpoint) kernel_choices::load(checkpoint->kernels);
}

RankAttempt::RankAttempt(const HandOver& hand_over, Rendezvous* rendezvous)
    : hand_over_(hand_over),
      recipe_(hand_over.resolved()),
      state_(state_of(hand_over, recipe_)),
      share_(rendezvous ? share_of_cores(*rendezvous) : CoreShare{own_cores().count()}) {
  const int world_size = rendezvous ? rendezvous->place().world_size : 1;
  use_formats(recipe_.section("precision"));
  use_threads(thread_count(recipe_, state_, world_size, share_.cores));
  choose_kernels(recipe_, state_);
  machine_ = this_machine();
  warn_of_what_is_slow(recipe_, machine_);
  pipeline_.emplace(build_pipeline(recipe_, hand_over.data, connected(recipe_, rendezvous)));
  for (const std::string& line : start_summary(*pipeline_, hand_over.data, machine_))
    log_info(line);
}

std::optional<Position> RankAttempt::restore(Recorder& recorder) const {
  if (!state_) return std::nullopt;
  load_tensors(*hand_over_.checkpoint, *pipeline_);
  const std::string warning = bits_may_differ(state_->machine, pipeline_->machine());
  if (!warning.empty()) recorder.event("warning", "resume", warning);
  log_info("continues from step " + std::to_string(state_->position.step));
  return state_->position;
}

}  // namespace exprun
