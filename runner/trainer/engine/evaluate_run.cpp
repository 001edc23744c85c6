#include "engine/evaluate_run.h"

#include <ATen/core/grad_mode.h>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/process/signals.h"
#include "engine/attempt/rank_attempt.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/device/cpu_memory.h"
#include "engine/device/device.h"
#include "engine/precision/precision.h"
#include "engine/record/evaluation_progress.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

using nlohmann::json;

struct Request {
  RecipeText text;
  std::string only;  // empty: all
};

Request parse(const std::string& request) {
  const json parsed = parse_json_or_discard<json>(request);
  if (!parsed.is_object() || !parsed.contains("recipe"))
    throw Error("evaluate: the request is not a JSON object with a recipe");
  const json only = parsed.value("only", json());
  return {RecipeText::from_json(json_text(parsed.at("recipe"))),
          only.is_string() ? only.get<std::string>() : ""};
}

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

json evaluate_run(const RunFolder& run, const std::filesystem::path& checkpoint,
                  const std::string& request) {
  const Request wanted = parse(request);
  const auto data = PreparedData::load(run.data());
  const ResolvedRecipe recipe = resolve(wanted.text, facts_of(data));
  const CheckpointState state = read_checkpoint_state(checkpoint);
  const Section settings = recipe.section("run");
  const at::Device device = device_of_rank(chosen_device(settings), 0);
  use_device(device, settings.get<bool>("deterministic"));
  use_formats(recipe.section("precision"));
  use_threads(state.machine.threads);
  choose_kernels(recipe, state);
  const Pipeline pipeline = build_pipeline(recipe, data, single_process(), device);
  load_tensors(checkpoint, pipeline);

  const at::NoGradGuard no_grad;
  pipeline.model().set_training(false);
  auto context = context_of(pipeline, state.position.step,
                            [] { return stop_requested() != StopRequest::none; });
  json results{{"step", state.position.step},
               {"metrics", json::object()},
               {"texts", json::object()},
               {"problems", json::object()}};
  for (const NamedEvaluation& named : pipeline.evaluations) {
    if (!wanted.only.empty() && named.name != wanted.only) continue;
    EvaluationProgress progress(named.name);
    context.report = [&](const WorkDone& done) { progress.show(done); };
    add(results, named, context);
  }
  return results;
}

}  // namespace exprun
