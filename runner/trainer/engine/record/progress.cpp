#include "engine/record/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/files/checkpoints.h"
#include "base/files/run_folder.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/terminal/console.h"
#include "base/terminal/terminal.h"
#include "base/utf8.h"
#include "engine/data/token_dataset.h"
#include "engine/describe.h"
#include "engine/device/device.h"

namespace exprun {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr double kSmoothing = 0.1;  // weight of the newest step
constexpr int64_t kFirstSteps = 2;  // not smoothed over: kernels are being chosen
constexpr auto kPlainLine = std::chrono::minutes(1);
constexpr double kShortAverage = 0.1, kLongAverage = 0.02;  // weights of the newest loss
constexpr int64_t kTrendAfter = 5;
constexpr std::string_view kValLoss = "val/loss";
constexpr double kLevel = 1e-3;      // of the loss: a smaller change is none
constexpr double kWrittenOut = 1e6;  // tokens a second
// What a narrow terminal's line does without, the highest first.
constexpr int kStays = 0, kDropElapsed = 4, kDropRate = 3, kDropBest = 2, kDropVal = 1;
constexpr int kDigits = 3, kBriefDigits = 2;  // of a loss

LogLevel level_named(const std::string& level) {
  if (level == "error") return LogLevel::error;
  return level == "warning" ? LogLevel::warning : LogLevel::info;
}

std::string rate_text(double rate) {
  return (rate < kWrittenOut ? with_thousands(static_cast<int64_t>(rate)) : in_thousands(rate)) +
         " tokens/s";
}

// "23.3k tok/s"
std::string brief_rate(double rate) {
  std::string text = in_thousands(rate);
  std::erase(text, ' ');
  return text + " tok/s";
}

LinePart loss_part(const std::string& name, double loss, int dropped,
                   const std::string& trend = "") {
  return {name + fixed(loss, kDigits) + trend, dropped, name + fixed(loss, kBriefDigits) + trend};
}

}  // namespace

Progress::Progress(const Pipeline& pipeline)
    : pipeline_(pipeline), begun_(Clock::now()), last_(begun_), told_at_(begun_) {}

Progress::~Progress() {
  show_progress_line("");
}

double Progress::seconds_since_last() {
  const auto now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
}

// In updates and in evaluations: that of this step, if it has one, and of all to come. One is at
// the end.
double Progress::seconds_left(int64_t step) const {
  const int64_t steps = pipeline_.plan.timeline.steps;
  double seconds = static_cast<double>(steps - step) * step_seconds_;
  for (const NamedEvaluation& named : pipeline_.evaluations) {
    const auto last = evaluation_seconds_.find(named.name);
    if (last == evaluation_seconds_.end()) continue;
    const int64_t left = (steps - 1) / named.every - (step - 1) / named.every + 1;
    seconds += last->second * static_cast<double>(left);
  }
  return seconds;
}

void LossTrend::add(double loss) {
  if (!std::isfinite(loss)) return;  // of an update that was skipped
  ++count_;
  const auto weight = [&](double usual) {
    return std::max(usual, 1.0 / static_cast<double>(count_));
  };
  short_ += (loss - short_) * weight(kShortAverage);
  long_ += (loss - long_) * weight(kLongAverage);
}

std::string LossTrend::arrow(bool color) const {
  if (count_ < kTrendAfter || !std::isfinite(short_ - long_)) return "";
  const double change = short_ - long_;
  if (std::abs(change) < kLevel * std::abs(long_)) return "→";
  return change < 0 ? inked("↓", Ink::green, color) : inked("↑", Ink::yellow, color);
}

void Progress::step(const StepRecord& record) {
  seconds_since_last();
  const bool early = tokens_ < static_cast<double>(kFirstSteps * record.tokens);
  step_seconds_ += (record.seconds - step_seconds_) * (early ? 1 : kSmoothing);
  training_seconds_ += record.seconds;
  if (!begun_at_) begun_at_ = record.step - 1;
  tokens_ += static_cast<double>(record.tokens);
  trend_.add(record.loss);
  const auto now = Clock::now();
  const bool terminal = has_progress_line();
  if (now - told_at_ >= kPlainLine || record.step % pipeline_.plan.progress_every == 0) {
    told_at_ = now;
    terminal ? note_in_log(plain_line(record)) : log_info(plain_line(record));
  }
  const bool is_last = record.step == pipeline_.plan.timeline.steps;
  if (!terminal || (now - shown_at_ < kRedraw && !is_last)) return;
  shown_at_ = now;
  show_progress_line(terminal_line(record));
}

// 0 after a step that was skipped or rolled back, which trained on no tokens.
double Progress::rate(const StepRecord& record) const {
  return static_cast<double>(record.tokens) / step_seconds_;
}

// With -v only.
std::string Progress::lr_text(const StepRecord& record) const {
  return is_shown(LogLevel::debug) ? "lr " + four_digits(record.lr) : "";
}

std::string Progress::plain_line(const StepRecord& record) const {
  const std::string lr = lr_text(record);
  return "step " + std::to_string(record.step) + "/" +
         std::to_string(pipeline_.plan.timeline.steps) + "  loss " + fixed(record.loss, 4) + "  " +
         (lr.empty() ? "" : lr + "  ") + (record.tokens ? rate_text(rate(record)) + "  " : "") +
         "elapsed " + time_span(elapsed()) + "  ETA " + time_span(seconds_left(record.step));
}

std::vector<LinePart> Progress::evaluated_parts() const {
  std::vector<LinePart> parts;
  if (last_val_loss_) parts.push_back(loss_part("val ", *last_val_loss_, kDropVal));
  const std::string& metric = pipeline_.plan.best.metric;
  if (newest_ && metric != kValLoss) parts.push_back(loss_part(metric + " ", *newest_, kDropVal));
  if (best_) parts.push_back(loss_part("best ", *best_, kDropBest));
  return parts;
}

std::string Progress::line_at(int64_t step, std::vector<LinePart> parts) const {
  const int64_t steps = pipeline_.plan.timeline.steps;
  const ProgressRoom room = progress_room();
  parts.insert(parts.begin(), {std::to_string(step) + "/" + std::to_string(steps)});
  return progress_line(static_cast<double>(step) / static_cast<double>(std::max<int64_t>(steps, 1)),
                       std::move(parts), room.columns, room.color);
}

std::string Progress::terminal_line(const StepRecord& record) const {
  std::vector<LinePart> parts{
      loss_part("loss ", record.loss, kStays, trend_.arrow(progress_room().color))};
  for (LinePart& part : evaluated_parts()) parts.push_back(std::move(part));
  if (const std::string lr = lr_text(record); !lr.empty()) parts.push_back({lr});
  if (record.tokens)
    parts.push_back({rate_text(rate(record)), kDropRate, brief_rate(rate(record))});
  parts.push_back({time_span(elapsed()), kDropElapsed, brief_time_span(elapsed())});
  const double left = seconds_left(record.step);
  parts.push_back({"ETA " + time_span(left), kStays, "ETA " + brief_time_span(left)});
  return line_at(record.step, std::move(parts));
}

void Progress::evaluating(int64_t step, const std::string& name, const WorkDone& done) {
  if (!evaluation_)
    evaluation_.emplace(
        name, "step " + std::to_string(step) + ": ",
        [this, step](const WorkDone&, const std::string& said) { return line_at(step, {{said}}); });
  evaluation_->show(done);
}

double Progress::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - begun_).count();
}

void Progress::evaluation(int64_t step, const std::string& name, const EvaluationResult& result) {
  evaluation_.reset();
  evaluation_seconds_[name] = seconds_since_last();
  for (const auto& [metric, value] : result.metrics) {
    log_info("step " + std::to_string(step) + ": " + metric + " " + fixed(value, 4));
    if (metric == kValLoss) last_val_loss_ = value;
    const BestRule& rule = pipeline_.plan.best;
    if (metric != rule.metric) continue;
    newest_ = value;
    if (std::isfinite(value) && (!best_ || rule.is_better(value, *best_))) best_ = value;
  }
  if (!result.problem.empty())
    log_info("step " + std::to_string(step) + ": " + name + ": " + result.problem);
  if (!result.text.empty())
    log_info(name + " at step " + std::to_string(step) + ":\n" + without_controls(result.text));
}

void Progress::rolled_back(const Position& position) {
  trend_ = {};
  best_ = position.best ? std::optional(position.best->value) : std::nullopt;
}

void Progress::event(const std::string& level, const std::string&, const std::string& text) {
  log(level_named(level), text);
}

double Progress::tokens_per_second() const {
  return training_seconds_ > 0 ? tokens_ / training_seconds_ : 0;
}

namespace {

std::string plural(int64_t count, const char* thing) {
  return with_thousands(count) + " " + thing + (count == 1 ? "" : "s");
}

// "1,000 parameters", "1,000 parameters, 10 of them trainable".
std::string counted(const ParameterList& parameters) {
  const int64_t all = parameters.count(), trainable = parameters.trainable_count();
  const std::string text = plural(all, "parameter");
  return trainable == all ? text : text + ", " + with_thousands(trainable) + " of them trainable";
}

std::string model_line(const Pipeline& pipeline) {
  const RunPlan& plan = pipeline.plan;
  return plan.name + ": model " + pipeline.recipe.section("model").type() + ", " +
         counted(*pipeline.train_state.parameters) + "; " + plural(plan.timeline.steps, "step") +
         " of " + plural(plan.batch.tokens(), "token");
}

std::string memory_line(const Pipeline& pipeline) {
  const MemoryPlan memory =
      memory_plan(pipeline.train_state, pipeline.plan.batch, pipeline.model().device().type());
  const std::string copy =
      memory.checkpoint_copy > 0 ? ", checkpoint copy " + binary_bytes(memory.checkpoint_copy) : "";
  return "memory about " + binary_bytes(memory.sum()) + ": weights " +
         binary_bytes(memory.weights) + ", gradients " + binary_bytes(memory.gradients) +
         ", optimizer " + binary_bytes(memory.optimizer) + ", activations " +
         binary_bytes(memory.activations) + copy;
}

std::string machine_line(const NumericEnvironment& environment) {
  return "LibTorch " + environment.libtorch + ", BLAS " + environment.blas + ", oneDNN " +
         environment.onednn + ", " + environment.instruction_set + ", " +
         plural(environment.threads, "thread");
}

// "NVIDIA H200 (GPU-...), 139 GiB, 138 GiB of them free, CUDA 13.0"
std::string gpu_line(at::Device device) {
  const GpuFacts gpu = facts_of(device);
  const DeviceMemory memory = device_memory(device);
  return gpu.name + " (" + gpu.uuid + "), " + binary_bytes(memory.total) + ", " +
         binary_bytes(memory.free) + " free, CUDA " + cuda_version();
}

std::string data_line(const Pipeline& pipeline, const PreparedData& data) {
  return "data: " + plural(token_count(data.train), "training token") + ", " +
         plural(token_count(data.validation), "validation token") + ", vocabulary " +
         with_thousands(pipeline.model().vocab_size());
}

const char* ending(const TrainingResult& result) {
  if (result.end == TrainingResult::End::finished)
    return result.message.empty() ? "finished" : "finished early";
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
  const std::string& metric = pipeline.plan.best.metric;
  if (const auto newest = progress.newest(); newest && metric != kValLoss)
    line += ", " + metric + " " + fixed(*newest, 4);
  if (const auto& best = result.position.best)
    line += " (best " + fixed(best->value, 4) + " at step " + std::to_string(best->step) + ")";
  line += ", " + with_thousands(static_cast<int64_t>(progress.tokens_per_second())) +
          " tokens/s, " + time_span(progress.training_seconds()) + " of training";
  if (progress.begun_at() > 0) line += " since step " + std::to_string(progress.begun_at());
  return line;
}

}  // namespace

std::vector<std::string> start_summary(const Pipeline& pipeline, const PreparedData& data,
                                       const NumericEnvironment& environment) {
  std::vector<std::string> lines{model_line(pipeline), memory_line(pipeline),
                                 machine_line(environment), data_line(pipeline, data)};
  const at::Device device = pipeline.model().device();
  if (!device.is_cpu()) lines.push_back(gpu_line(device));
  if (const std::string remark = pipeline.dataset->remark(); !remark.empty())
    lines.push_back(remark);
  return lines;
}

std::vector<std::string> end_summary(const Pipeline& pipeline, const Progress& progress,
                                     const TrainingResult& result, const StoredRun& run) {
  std::vector<std::string> lines{result_line(pipeline, progress, result)};
  if (result.position.step > 0 && result.end != TrainingResult::End::diverged)
    lines.push_back("saved in " +
                    (run.shown.checkpoints() / checkpoint_name(result.position.step)).string());
  const DivergenceState& divergence = result.position.divergence;
  if (divergence.skipped > 0)
    lines.push_back("skipped " + plural(divergence.skipped, "update") + " that diverged");
  if (divergence.passed_over > 0)
    lines.push_back("passed over the data of " + plural(divergence.passed_over, "step"));
  if (result.end == TrainingResult::End::diverged) {
    const std::string step = std::to_string(result.position.step + 1);
    lines.push_back("`exprun data head --run " + words_for(run) + " --step " + step +
                    "` prints the data of step " + step);
    lines.push_back(pipeline.plan.divergence.policy == OnDivergence::stop
                        ? "a lower optimizer.lr, a longer schedule.warmup or run.on_divergence = "
                          "\"skip\" may help"
                        : "a lower optimizer.lr or a longer schedule.warmup may help");
  }
  if (std::filesystem::exists(run.folder.samples()))
    lines.push_back("samples in " + run.shown.samples().string());
  return lines;
}

}  // namespace exprun
