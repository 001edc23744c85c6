#include "engine/attempt/rank_attempt.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/log.h"
#include "base/machine/processor.h"
#include "base/strings.h"
#include "base/terminal/console.h"
#include "dist/gloo.h"
#include "dist/group_by_device.h"
#include "dist/nccl.h"
#include "engine/autotune/run_kernels.h"
#include "engine/checkpoint/open_checkpoint.h"
#include "engine/describe.h"
#include "engine/device/device.h"
#include "engine/device/thread_count.h"
#include "engine/precision/precision.h"
#include "engine/record/progress.h"
#include "engine/weights/import.h"
#include "recipe/capacity.h"

namespace exprun {
namespace {

using nlohmann::json;

std::string key_of(int rank) {
  return "cores/" + std::to_string(rank);
}

}  // namespace

CoreShare share_of_cores(Rendezvous& rendezvous, const Cores& own) {
  const RankPlace& place = rendezvous.place();
  rendezvous.set(key_of(place.rank), json_text(json{{"host", own.host}, {"cores", own.names}}));
  Cores together{own.host, {}, own.limit};
  std::set<std::string> hosts;
  int sharers = 0;
  for (int rank = 0; rank < place.world_size; ++rank) {
    const json other = parse_json<json>(rendezvous.get(key_of(rank)));
    hosts.insert(other.at("host"));
    if (other.at("host") != own.host) continue;
    ++sharers;
    together.names.merge(other.at("cores").get<std::set<std::string>>());
  }
  return {std::max(1, std::min(own.count(), together.count() / sharers)),
          static_cast<int>(hosts.size())};
}

namespace {

std::optional<CheckpointState> state_of(const HandOver& hand_over, const ResolvedRecipe& recipe) {
  if (!hand_over.checkpoint) return std::nullopt;
  const std::string& former = hand_over.checkpoint_recipe;
  return open_checkpoint(*hand_over.checkpoint, former.empty() ? recipe.hash() : former,
                         hand_over.data.fingerprint);
}

// A run goes on with the threads that it began with, if with as many ranks.
std::optional<int> threads_so_far(const std::optional<CheckpointState>& checkpoint,
                                  const RunFolder& folder, int world_size) {
  if (checkpoint && checkpoint->environment.world_size == world_size)
    return checkpoint->environment.threads;
  if (const auto kept = kept_threads(folder); kept && kept->world_size == world_size)
    return kept->threads;
  return std::nullopt;
}

// Small numbers go between CPUs even where tensors go between GPUs: nobody waits for a device then.
std::shared_ptr<ProcessGroup> connected(const ResolvedRecipe& recipe, Rendezvous* rendezvous,
                                        at::Device device) {
  if (!rendezvous) return single_process();
  const auto timeout = exchange_timeout(recipe);
  auto of_cpus = gloo_group(*rendezvous, timeout);
  if (device.is_cpu()) return of_cpus;
  return group_by_device(std::move(of_cpus), nccl_group(*rendezvous, timeout, device));
}

at::Device device_of(const HandOver& hand_over, const Rendezvous* rendezvous) {
  const auto type = hand_over.device == "cpu" ? at::kCPU : at::kCUDA;
  return device_of_rank(type, rendezvous ? rendezvous->place().local_rank : 0);
}

void warn_of_what_is_slow(const ResolvedRecipe& recipe, const NumericEnvironment& environment,
                          at::Device device, int cores) {
  if (environment.threads > cores && device.is_cpu())
    log_warning(pluralize(environment.threads, "thread") + " must take turns on " +
                pluralize(cores, "core") + "; run.threads = \"auto\" takes one per core");
  const Section precision = recipe.section("precision");
  if (const auto slow = device.is_cpu() ? check_formats(precision, processor_flags())
                                        : check_formats(precision, facts_of(device)))
    log_warning(*slow);
  if (environment.blas == "generic" && device.is_cpu())
    log_warning(
        "this LibTorch has a generic BLAS: training is 20 to 45 times slower than with MKL");
}

// Before memory is taken: a system that has none left may end the run without a word.
void require_memory(const ResolvedRecipe& recipe, const TrainState& shapes, at::Device device,
                    const CoreShare& share, int ranks) {
  const MemoryPlan plan = memory_plan(shapes, batch_shape(recipe), device.type());
  Diagnostics problems =
      memory_problems(recipe,
                      {static_cast<double>(plan.of_model()), static_cast<double>(plan.activations),
                       static_cast<double>(plan.checkpoint_copy)},
                      {device.is_cpu() ? "this machine" : "this GPU", device_memory(device).total,
                       device.is_cpu() ? (ranks + share.machines - 1) / share.machines : 1});
  if (has_errors(problems)) throw RecipeError(std::move(problems));
  for (const Diagnostic& problem : problems) log_warning(problem.message + "; " + problem.help);
}

}  // namespace

std::chrono::milliseconds exchange_timeout(const ResolvedRecipe& recipe) {
  const auto period = recipe.section("parallelism").get<Period>("timeout");
  return std::chrono::milliseconds(std::llround(1000 * period.count));
}

RankAttempt::RankAttempt(const HandOver& hand_over, Rendezvous* rendezvous)
    : hand_over_(hand_over),
      recipe_(hand_over.resolved()),
      state_(state_of(hand_over, recipe_)),
      device_(device_of(hand_over, rendezvous)),
      share_(rendezvous ? share_of_cores(*rendezvous) : CoreShare{own_cores().count()}) {
  const int world_size = rendezvous ? rendezvous->place().world_size : 1;
  use_device(device_, recipe_.section("run").get<bool>("deterministic"));
  use_formats(recipe_.section("precision"));
  const TrainState shapes = build_train_state(recipe_, at::kMeta, imagined_ranks(world_size));
  const auto so_far = threads_so_far(state_, hand_over.folder, world_size);
  use_threads(so_far ? *so_far : thread_count(recipe_, *shapes.model, device_, share_.cores));
  choose_kernels(recipe_, state_);
  environment_ = numeric_environment();
  warn_of_what_is_slow(recipe_, environment_, device_, share_.cores);
  require_memory(recipe_, shapes, device_, share_, world_size);
  pipeline_.emplace(
      build_pipeline(recipe_, hand_over.data, connected(recipe_, rendezvous, device_), device_));
  for (const std::string& line : start_summary(*pipeline_, hand_over.data, environment_))
    log_info(line);
  if (const std::string warning = pipeline_->dataset->warning(); !warning.empty())
    log_warning("dataset: " + warning);
}

bool RankAttempt::kernels_repeat() const {
  return device_.is_cpu() || recipe_.section("run").get<bool>("deterministic");
}

void RankAttempt::begin_with_given_weights(Recorder& recorder) const {
  const auto imported =
      import_weights(recipe_, pipeline_->train_state, match_tokens_with_init_from(*pipeline_));
  if (!imported) return;
  recorder.event("info", "init_from", "loaded " + imported->text);
  for (const std::string& warning : imported->warnings)
    recorder.event("warning", "init_from", warning);
}

std::optional<Position> RankAttempt::restore(Recorder& recorder) const {
  if (!state_) {
    begin_with_given_weights(recorder);
    return std::nullopt;
  }
  load_tensors(*hand_over_.checkpoint, *pipeline_);
  const std::string warning =
      bits_may_differ(state_->environment, pipeline_->environment(), kernels_repeat());
  if (!warning.empty()) recorder.event("warning", "resume", warning);
  log_info("continues from step " + std::to_string(state_->position.step));
  return state_->position;
}

}  // namespace exprun
