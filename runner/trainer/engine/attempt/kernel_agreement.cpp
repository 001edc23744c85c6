#include "engine/attempt/kernel_agreement.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "engine/device/kernel_choices.h"

namespace exprun {

namespace {

using nlohmann::json;

constexpr const char* kKernels = "kernels";
constexpr std::chrono::minutes kPatience{30};  // for a micro-batch of a large model

// The gradients are set to zero again by the first step.
void rehearse(const Pipeline& pipeline) {
  const Batch batch = pipeline.read(Split::train, 0, pipeline.plan.batch.micro_batch);
  pipeline.model().set_training(true);
  pipeline.model().loss_sum(batch.inputs, batch.targets).backward();
}

}  // namespace

void agree_on_kernels(Rendezvous& rendezvous, const Pipeline& pipeline) {
  if (kernel_choices::fixed() || !pipeline.model().device().is_cpu()) return;
  if (rendezvous.place().rank == 0) {
    rehearse(pipeline);
    rendezvous.set(kKernels, json_text(kernel_choices::save()));
  } else {
    kernel_choices::load(parse_json<json>(rendezvous.get(kKernels, kPatience)));
  }
  kernel_choices::close();
}

}  // namespace exprun
