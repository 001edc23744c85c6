#include "engine/attempt.h"

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "base/processor.h"
#include "engine/checkpoint_writer.h"
#include "engine/format_support.h"
#include "engine/kernel_choices.h"
#include "engine/kernel_file.h"
#include "engine/mfu.h"
#include "engine/pipeline.h"
#include "engine/progress.h"
#include "engine/resume.h"
#include "engine/summary.h"
#include "engine/tensorboard_recorder.h"
#include "engine/timer_recorder.h"
#include "engine/token_reader.h"
#include "engine/trainer.h"

namespace exprun {

namespace {

ResolvedRecipe read_resolved(const RunFolder& folder, const PreparedData& data) {
  return resolve(RecipeText::from_json(read_file(folder.recipe())),
                 {data.vocab_size, token_count(data.train), token_count(data.validation)});
}

// A checkpoint goes on with the threads that it was made with.
int thread_count(const ResolvedRecipe& recipe, const std::optional<CheckpointState>& checkpoint) {
  if (checkpoint) return checkpoint->machine.threads;
  const auto* threads = recipe.find("run.threads")->as<int64_t>();
  return threads ? static_cast<int>(*threads) : usable_cores();
}

void choose_kernels(const ResolvedRecipe& recipe,
                    const std::optional<CheckpointState>& checkpoint) {
  if (recipe.section("run").get<bool>("deterministic")) kernel_choices::fix();
  if (checkpoint) kernel_choices::load(checkpoint->kernels);
}

// The store first: nothing is shown that is not recorded.
class Everywhere : public Recorder {
 public:
  explicit Everywhere(std::vector<Recorder*> all) : all_(std::move(all)) {}

  void add(Recorder& recorder) { all_.push_back(&recorder); }

  void step(const StepRecord& record) override {
    for (Recorder* one : all_) one->step(record);
  }
  void evaluation(int64_t step, const std::string& name, const EvaluationResult& result) override {
    for (Recorder* one : all_) one->evaluation(step, name, result);
  }
  void event(const std::string& level, const std::string& kind, const std::string& text) override {
    for (Recorder* one : all_) one->event(level, kind, text);
  }

 private:
  std::vector<Recorder*> all_;
};

std::vector<std::pair<std::string, HyperParameter>> hyper_parameters(const ResolvedRecipe& recipe) {
  std::vector<std::pair<std::string, HyperParameter>> parameters;
  for (const auto& [path, text] : recipe.leaves(false))
    parameters.emplace_back(path, hyper_parameter(text));
  return parameters;
}

// Nothing where no peak is known; of a CPU only that which the recipe gives.
std::optional<Mfu> mfu_of(const Pipeline& pipeline) {
  const auto given = pipeline.recipe.section("metrics").find<double>("peak_tflops");
  const auto device = pipeline.recipe.section("run").get<std::string>("device");
  const auto peak = given ? std::optional(*given * 1e12) : known_peak_flops(device);
  if (!peak) return std::nullopt;
  return Mfu{pipeline.model().flops_per_token(pipeline.plan.batch.sequence_length), *peak};
}

ExitCode exit_code(const TrainingResult& result) {
  if (result.end == TrainingResult::End::finished) return ExitCode::done;
  if (result.end == TrainingResult::End::diverged) return ExitCode::diverged;
  switch (result.stop) {
    case StopRequest::interrupt:
      return ExitCode::interrupted_int;
    case StopRequest::terminate:
      return ExitCode::interrupted_term;
    default:
      return ExitCode::preempted;
  }
}

Position restore(const Pipeline& pipeline, const std::filesystem::path& folder,
                 const CheckpointState& state, Recorder& recorder) {
  load_tensors(folder, pipeline);
  const std::string warning = bits_may_differ(state.machine, this_machine());
  if (!warning.empty()) recorder.event("warning", "resume", warning);
  log_info("continues from step " + std::to_string(state.position.step));
  return state.position;
}

void say(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) log_info(line);
}

}  // namespace

ExitCode run_attempt(const StoredRun& run, const std::optional<std::filesystem::path>& checkpoint) {
  const auto data = PreparedData::from_json(read_file(run.folder.data()));
  const ResolvedRecipe recipe = read_resolved(run.folder, data);
  std::optional<CheckpointState> state;
  if (checkpoint) state = open_checkpoint(*checkpoint, recipe.hash(), data.fingerprint);
  if (const auto slow = check_formats(recipe.section("precision"), processor_flags()))
    log_warning(*slow);
  use_formats(recipe.section("precision"));
  use_threads(thread_count(recipe, state));
  choose_kernels(recipe, state);
  KernelFile kernels(run.folder.kernels());

  const Pipeline pipeline = build_pipeline(recipe, data);
  const Machine machine = this_machine();
  say(start_summary(pipeline, data, machine));
  if (machine.blas == "generic")
    log_warning(
        "this LibTorch has a generic BLAS: training is 20 to 45 times slower than with MKL");

  record_libraries(run, libraries_json(machine));
  MetricWriter metrics(run.store, run.id);
  StoreRecorder store(run, metrics, pipeline.plan.metrics_every);
  Progress progress(pipeline.plan);
  Everywhere recorder({&store, &progress});
  TimerRecorder timers(metrics, pipeline.plan);
  recorder.add(timers);
  const auto mfu = mfu_of(pipeline);
  std::optional<MfuRecorder> utilisation;
  if (mfu) recorder.add(utilisation.emplace(metrics, pipeline.plan.metrics_every, *mfu));
  std::optional<TensorboardRecorder> tensorboard;
  if (recipe.section("metrics").get<bool>("tensorboard"))
    recorder.add(tensorboard.emplace(run.folder.path / "tensorboard", pipeline.plan.metrics_every,
                                     hyper_parameters(recipe)));
  Position start;
  if (state) start = restore(pipeline, *checkpoint, *state, recorder);

  StoreLedger ledger(run, metrics);
  CheckpointWriter saver(run.folder, ledger, recorder, state ? std::optional(start) : std::nullopt);
  Trainer trainer(pipeline, {recorder, &saver, stop_requested, [&kernels] { kernels.keep(); }});
  const TrainingResult result = trainer.run(start);
  metrics.flush();
  if (!result.message.empty()) recorder.event("error", "end", result.message);
  show_progress_line("");
  say(end_summary(pipeline, progress, result, run.folder.path));
  if (mfu) log_info(mfu->text(progress.tokens_per_second()));
  return exit_code(result);
}

}  // namespace exprun
