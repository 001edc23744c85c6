#include "engine/record/summary.h"

#include "base/humane.h"
#include "base/number.h"
#include "base/run_folder.h"
#include "engine/data/token_reader.h"
#include "engine/describe.h"
#include "engine/device/device.h"

namespace exprun {

namespace {

std::string plural(int64_t count, const char* thing) {
  return with_thousands(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string model_line(const Pipeline& pipeline) {
  const RunPlan& plan = pipeline.plan;
  return plan.name + ": model " + pipeline.recipe.section("model").type() + ", " +
         plural(pipeline.learner.parameters->count(), "parameter") + "; " +
         plural(plan.timeline.steps, "step") + " of " + plural(plan.batch.tokens(), "token");
}

std::string memory_line(const Pipeline& pipeline) {
  const MemoryPlan memory = memory_plan(pipeline.learner, pipeline.plan.batch);
  return "memory about " + binary_bytes(memory.sum()) + ": weights " +
         binary_bytes(memory.weights) + ", gradients " + binary_bytes(memory.gradients) +
         ", optimizer " + binary_bytes(memory.optimizer) + ", activations " +
         binary_bytes(memory.activations);
}

std::string machine_line(const Machine& machine) {
  return "LibTorch " + machine.libtorch + ", BLAS " + machine.blas + ", oneDNN " + machine.onednn +
         ", " + machine.instruction_set + ", " + plural(machine.threads, "thread");
}

// "NVIDIA H200 (GPU-...), 139 GiB, 138 GiB of them free, CUDA 13.0"
std::string gpu_line(at::Device device) {
  const GpuFacts gpu = facts_of(device);
  const DeviceMemory memory = device_memory(device);
  return gpu.name + " (" + gpu.uuid + "), " + binary_bytes(memory.total) + ", " +
         binary_bytes(memory.free) + " of them free, CUDA " + cuda_version();
}

std::string data_line(const Pipeline& pipeline, const PreparedData& data) {
  return "data: " + plural(token_count(data.train), "token") + " to train on, " +
         with_thousands(token_count(data.validation)) + " to validate, vocabulary " +
         with_thousands(pipeline.model().vocab_size());
}

const char* ending(const TrainingResult& result) {
  if (result.end == TrainingResult::End::finished) return "finished";
  if (result.end == TrainingResult::End::diverged) return "diverged";
  return result.stop == StopRequest::preempt ? "preempted" : "interrupted";
}

std::string result_line(const Pipeline& pipeline, const Progress& progress,
                        const TrainingResult& result) {
  // What diverged is the step after the last update; its loss is recorded.
  const int64_t step = result.position.step + (result.end == TrainingResult::End::diverged ? 1 : 0);
  std::string line = std::string(ending(result)) + " at step " + std::to_string(step) + "/" +
                     std::to_string(pipeline.plan.timeline.steps);
  if (const auto loss = progress.last_val_loss()) line += ", val loss " + fixed(*loss, 4);
  if (const auto& best = result.position.best)
    line += " (best " + fixed(best->value, 4) + " at step " + std::to_string(best->step) + ")";
  return line + ", " + with_thousands(static_cast<int64_t>(progress.tokens_per_second())) +
         " tokens/s, " + duration(progress.training_seconds()) + " of training";
}

}  // namespace

std::vector<std::string> start_summary(const Pipeline& pipeline, const PreparedData& data,
                                       const Machine& machine) {
  std::vector<std::string> lines{model_line(pipeline), memory_line(pipeline), machine_line(machine),
                                 data_line(pipeline, data)};
  const at::Device device = pipeline.model().device();
  if (!device.is_cpu()) lines.push_back(gpu_line(device));
  return lines;
}

std::vector<std::string> end_summary(const Pipeline& pipeline, const Progress& progress,
                                     const TrainingResult& result, const StoredRun& run) {
  std::vector<std::string> lines{result_line(pipeline, progress, result)};
  if (result.position.step > 0 && result.end != TrainingResult::End::diverged)
    lines.push_back("saved in " +
                    (run.shown.checkpoints() / checkpoint_name(result.position.step)).string());
  if (std::filesystem::exists(run.folder.samples()))
    lines.push_back("samples in " + run.shown.samples().string());
  return lines;
}

}  // namespace exprun
