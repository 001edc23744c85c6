#include "engine/record/evaluation_progress.h"

#include <utility>

#include "base/log.h"
#include "base/terminal/console.h"
#include "base/terminal/progress_line.h"

namespace exprun {
namespace {

constexpr auto kTerminalPause = std::chrono::milliseconds(100);
constexpr auto kLogPause = std::chrono::seconds(10);

}  // namespace

EvaluationProgress::EvaluationProgress(std::string name, std::string head, Line line)
    : name_(std::move(name)), head_(std::move(head)), line_(std::move(line)) {}

EvaluationProgress::~EvaluationProgress() {
  show_progress_line("");
}

std::string EvaluationProgress::own_line(const WorkDone& done, const std::string& said) {
  const ProgressRoom room = progress_room();
  const double all = static_cast<double>(done.all > 0 ? done.all : 1);
  return progress_line(static_cast<double>(done.done) / all, {{said}}, room.columns, room.color);
}

void EvaluationProgress::show(const WorkDone& done) {
  const bool terminal = has_progress_line();
  const auto now = Clock::now();
  if (now - shown_ < (terminal ? Clock::duration(kTerminalPause) : Clock::duration(kLogPause)))
    return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string said = name_ + ": " + work_done(done.done, done.all, done.unit, seconds);
  terminal ? show_progress_line(line_(done, said)) : log_info(head_ + said);
}

}  // namespace exprun
