#include "control/sweep/run/trial_messages.h"

#include <vector>

#include "base/log.h"
#include "control/launch/process/trainer_end.h"

namespace exprun {
namespace {

constexpr size_t kShownLogLines = 10;

}  // namespace

std::string TrialMessages::prefix(const Trial& trial) const {
  return "[" + std::to_string(trial.number) + "/" + std::to_string(plan_.trials.size()) + "] " +
         label(trial) + ": ";
}

void TrialMessages::say(const Trial& trial, const std::string& text) const {
  log_info(prefix(trial) + text);
}

void TrialMessages::warn(const Trial& trial, const std::string& text) const {
  log_warning(prefix(trial) + text);
}

void TrialMessages::warn_of_failure(const Trial& trial, const RunRow& run, std::string text) {
  // That of a run that diverged says no more than its message.
  if (!has_shown_a_log_ && run.state != RunState::diverged) {
    const auto log = folder_.run(run.folder).log(run.attempt, 0);
    std::vector<std::string> lines = last_lines(log, kShownLogLines);
    std::erase_if(lines, [&](const std::string& line) {
      return !run.message.empty() && line.ends_with(run.message);
    });
    has_shown_a_log_ = !lines.empty();
    if (has_shown_a_log_)
      text += "\n  the last lines of " +
              (folder_.shown / run.folder / "logs" / log.filename()).string() + ":";
    for (const std::string& line : lines) text += "\n  | " + line;
  }
  warn(trial, text);
}

std::string by_change(const std::string& why, const Trial& trial) {
  constexpr std::string_view kError = ": error: ";
  const size_t message = why.find(kError);
  for (const auto& source : trial.text.sources())
    if (message != why.npos && source->kind == SourceFile::Kind::typed_override &&
        why.starts_with(source->name + ':'))
      return source->text + ": " + why.substr(message + kError.size());
  return why;
}

}  // namespace exprun
