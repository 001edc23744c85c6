#include "engine/inference/evaluate_run.h"

#include <ATen/core/grad_mode.h>

#include "base/diagnostic.h"
#include "base/process/signals.h"
#include "engine/device/cpu_memory.h"
#include "engine/record/evaluation_progress.h"

namespace exprun {
namespace {

using nlohmann::json;

void add(json& results, const NamedEvaluation& named, const EvaluationContext& context) {
  const auto result = evaluate(named, context);
  if (!result) throw Error("evaluate: stopped");
  for (const auto& [metric, value] : result->metrics) results["metrics"][metric] = value;
  if (!result->text.empty()) results["texts"][named.name] = result->text;
  if (!result->problem.empty()) results["problems"][named.name] = result->problem;
}

}  // namespace

EvaluationContext context_of(const Pipeline& pipeline, int64_t step,
                             std::function<bool()> stop_requested) {
  const RunPlan& plan = pipeline.plan;
  return {pipeline.model(),
          *pipeline.dataset,
          pipeline.tokenizer.get(),
          step,
          plan.seed,
          plan.batch.micro_batch,
          plan.batch.sequence_length,
          std::move(stop_requested),
          [&pipeline](Split split, int64_t first, int64_t count) {
            return pipeline.read(split, first, count);
          },
          pipeline.group};
}

std::optional<EvaluationResult> evaluate(const NamedEvaluation& named,
                                         const EvaluationContext& context) {
  give_back_idle_cpu_memory();
  auto result = named.evaluation->evaluate(context);
  give_back_idle_cpu_memory();
  return result;
}

json evaluate_run(const LoadedModel& loaded) {
  const at::NoGradGuard no_grad;
  auto context = context_of(loaded.pipeline(), loaded.step(),
                            [] { return stop_requested() != StopRequest::none; });
  json results{{"step", loaded.step()},
               {"metrics", json::object()},
               {"texts", json::object()},
               {"problems", json::object()}};
  for (const NamedEvaluation& named : loaded.pipeline().evaluations) {
    EvaluationProgress progress(named.name);
    context.report = [&](const WorkDone& done) { progress.show(done); };
    add(results, named, context);
  }
  return results;
}

}  // namespace exprun
