#include "engine/record/recording.h"

#include "base/log.h"

namespace exprun {
namespace {

std::vector<std::pair<std::string, HyperParameter>> hyper_parameters(const ResolvedRecipe& recipe) {
  std::vector<std::pair<std::string, HyperParameter>> parameters;
  for (const auto& [path, text] : recipe.leaves(false))
    parameters.emplace_back(path, hyper_parameter(text));
  return parameters;
}

// What TensorBoard compares runs by.
std::vector<std::string> metrics_of(const Pipeline& pipeline) {
  std::vector<std::string> names{"train/loss"};
  for (const auto& named : pipeline.evaluations)
    for (std::string& metric : named.evaluation->metrics()) names.push_back(std::move(metric));
  return names;
}

// Nothing where no peak is known.
std::optional<Mfu> mfu_of(const RankAttempt& attempt) {
  const Pipeline& pipeline = attempt.pipeline();
  const auto peak = peak_of(pipeline.recipe, pipeline.environment(), attempt.share());
  if (!peak) return std::nullopt;
  return Mfu{pipeline.model().flops_per_token(pipeline.plan.batch.sequence_length), *peak};
}

}  // namespace

Recording::Recording(const StoredRun& run, const RankAttempt& attempt)
    : run_(run),
      attempt_(attempt),
      metrics_(run.store, run.id),
      store_(run, metrics_, attempt.pipeline().plan.metrics_every),
      progress_(attempt.pipeline()),
      timers_(metrics_, attempt.pipeline().plan, attempt.device()),
      mfu_(mfu_of(attempt)),
      all_{&store_, &progress_, &timers_} {
  const int64_t every = attempt.pipeline().plan.metrics_every;
  if (mfu_) all_.push_back(&utilization_.emplace(metrics_, every, *mfu_));
  if (!attempt.recipe().section("metrics").get<bool>("tensorboard")) return;
  events_.emplace(run.folder.path / "tensorboard");
  all_.push_back(&tensorboard_.emplace(*events_, every, hyper_parameters(attempt.recipe()),
                                       metrics_of(attempt.pipeline())));
}

void Recording::begin(const std::optional<Position>& start) {
  const int64_t step = start ? start->step : 0;
  if (start)
    progress_.know_values(store_.last_value("val/loss"),
                          store_.last_value(attempt_.pipeline().plan.best.metric),
                          start->best ? std::optional(start->best->value) : std::nullopt);
  const SystemRecorder::Settings settings{run_.folder.path, attempt_.pipeline().plan.system_every,
                                          step, events_ ? &*events_ : nullptr, attempt_.device()};
  all_.push_back(&system_.emplace(metrics_, settings));
}

void Recording::end(const TrainingResult& result) {
  metrics_.flush();
  const bool finished = result.end == TrainingResult::End::finished;
  if (!result.message.empty()) event(finished ? "info" : "error", "end", result.message);
  show_progress_line("");
  for (const std::string& line : end_summary(attempt_.pipeline(), progress_, result, run_))
    log_info(line);
  if (mfu_) log(LogLevel::debug, mfu_->text(progress_.tokens_per_second()));
}

void Recording::step(const StepRecord& record) {
  for (Recorder* one : all_) one->step(record);
}

void Recording::evaluation(int64_t step, const std::string& name, const EvaluationResult& result) {
  for (Recorder* one : all_) one->evaluation(step, name, result);
}

void Recording::evaluating(int64_t step, const std::string& name, const WorkDone& done) {
  for (Recorder* one : all_) one->evaluating(step, name, done);
}

// The store last: until then something may still be recorded of a later step.
void Recording::rolled_back(const Position& position) {
  for (auto one = all_.rbegin(); one != all_.rend(); ++one) (*one)->rolled_back(position);
}

void Recording::event(const std::string& level, const std::string& kind, const std::string& text) {
  for (Recorder* one : all_) one->event(level, kind, text);
}

}  // namespace exprun
