#include "control/launch/attempt.h"

#include "base/clock.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "control/launch/child.h"
#include "control/launch/end_state.h"
#include "control/launch/trainer_program.h"
#include "store/last_words.h"

namespace exprun {
namespace {

ChildCommand trainer_command(const Store& store, const Attempt& attempt, LogLevel level) {
  ChildCommand command;
  command.words = {
      trainer_program().string(),     "--run-folder", attempt.folder.path.string(),     "--store",
      store.file().string(),          "--run-id",     std::to_string(attempt.run),      "--attempt",
      std::to_string(attempt.number), "--lock-fd",    std::to_string(attempt.lock.fd())};
  if (attempt.resume_from) {
    command.words.push_back("--resume-from");
    command.words.push_back(attempt.resume_from->string());
  }
  if (level == LogLevel::warning) command.words.push_back("--quiet");
  if (level == LogLevel::debug) command.words.push_back("--verbose");
  command.environment = trainer_environment();
  command.kept_fd = attempt.lock.fd();
  command.holds_stop_signals = true;
  return command;
}

// Why the trainer says it ended: its last event of the kind "end".
std::string end_message(const Store& store, const Attempt& attempt) {
  std::string message;
  for (const EventRow& event : store.events(attempt.run))
    if (event.kind == "end" && event.attempt == attempt.number) message = event.text;
  return message;
}

// The store may be what is in trouble: then the run's lock file tells, until the store takes it.
void record_end(Store& store, const Attempt& attempt, const LastWords& words) {
  try {
    store.end_attempt(attempt.run, words.state, words.exit_code, words.signal, words.message);
  } catch (const Error& error) {
    leave_last_words(attempt.lock.fd(), words, attempt.folder.lock());
    log_warning(std::string(error.what()) + "; how the run ended is kept in '" +
                attempt.folder.lock().string() + "' until the store can take it");
  }
}

LastWords words_of(const Attempt& attempt, RunState state, const std::string& message) {
  return {attempt.number, now_ms(), state, std::nullopt, std::nullopt, message};
}

}  // namespace

int supervise(Store& store, const Attempt& attempt, const ForwardedSignals& signals,
              LogLevel level) {
  ChildEnd end;
  try {
    end = run_child(trainer_command(store, attempt, level), signals);
  } catch (const Error& error) {
    record_end(store, attempt, words_of(attempt, RunState::failed, error.what()));
    throw;
  }
  std::string message = signal_message(end);
  if (message.empty()) message = end_message(store, attempt);
  LastWords words = words_of(attempt, end_state(end), message);
  words.exit_code = end.exit_code;
  words.signal = end.signal;
  record_end(store, attempt, words);
  return exit_status(end);
}

}  // namespace exprun
