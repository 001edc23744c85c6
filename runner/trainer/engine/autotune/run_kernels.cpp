#include "engine/autotune/run_kernels.h"

#include <chrono>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "engine/autotune/autotune.h"
#include "engine/device/device.h"

namespace exprun {
namespace {

using nlohmann::json;

constexpr const char* kAgreedKernels = "kernels";
constexpr std::chrono::minutes kWarmUpPatience{30};  // for a micro-batch of a large model

// The gradients are set to zero again by the first step.
void warm_up(const Pipeline& pipeline) {
  const Batch batch = pipeline.read(Split::train, 0, pipeline.plan.batch.micro_batch);
  pipeline.model().set_training(true);
  pipeline.model().promise_loss_gradient(1);
  loss_sum_of(pipeline.model(), batch).backward();
}

}  // namespace

void choose_kernels(const ResolvedRecipe& recipe,
                    const std::optional<CheckpointState>& checkpoint) {
  if (recipe.section("run").get<bool>("deterministic")) autotune::freeze();
  if (checkpoint) autotune::load(checkpoint->kernels);
}

KernelFile::KernelFile(std::filesystem::path file) : file_(std::move(file)) {
  if (!std::filesystem::exists(file_)) return;
  auto choices = parse_json_or_discard<json>(read_file(file_));
  if (!choices.is_object())
    throw Error("kernels: '" + file_.string() +
                "' is damaged; remove it: the newest checkpoint has the same content");
  autotune::load(choices);
  kept_ = std::move(choices);
}

void KernelFile::keep() {
  auto choices = autotune::save();
  if (choices == kept_) return;
  write(choices);
  kept_ = std::move(choices);
}

void KernelFile::write(const json& choices) {
  try {
    write_file_atomically(file_, json_text(choices, 1) + "\n");
  } catch (const Error& error) {
    if (kept_.is_null()) throw;
    log_warning(std::string(error.what()) + "; a resumed run may choose other kernels");
  }
}

void agree_on_kernels(Rendezvous& rendezvous, const Pipeline& pipeline) {
  if (autotune::frozen() || !pipeline.model().device().is_cpu()) return;
  if (rendezvous.place().rank == 0) {
    warm_up(pipeline);
    rendezvous.set(kAgreedKernels, json_text(autotune::save()));
  } else {
    autotune::load(parse_json<json>(rendezvous.get(kAgreedKernels, kWarmUpPatience)));
  }
  autotune::seal();
}

}  // namespace exprun
