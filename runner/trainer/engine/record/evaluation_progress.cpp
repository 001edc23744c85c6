#include "engine/record/evaluation_progress.h"

#include <utility>

#include "base/log.h"
#include "base/terminal/console.h"
#include "base/terminal/progress_line.h"

namespace exprun {
namespace {

constexpr std::chrono::milliseconds kTerminalPause{100};

}  // namespace

EvaluationProgress::EvaluationProgress(std::string name, std::string head, Line line)
    : name_(std::move(name)),
      head_(std::move(head)),
      line_(std::move(line)),
      throttle_(kTerminalPause) {}

EvaluationProgress::~EvaluationProgress() {
  show_progress_line("");
}

std::string EvaluationProgress::own_line(const WorkDone& done, const std::string& said) {
  const ProgressRoom room = progress_room();
  const double all = static_cast<double>(done.all > 0 ? done.all : 1);
  return progress_line(static_cast<double>(done.done) / all, {{said}}, room.columns, room.color);
}

void EvaluationProgress::show(const WorkDone& done) {
  if (!throttle_.is_due()) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::string said = name_ + ": " + work_done(done.done, done.all, done.unit, seconds);
  has_progress_line() ? show_progress_line(line_(done, said)) : log_info(head_ + said);
}

}  // namespace exprun
