#include "control/launch/process/forwarded_signals.h"

#include <initializer_list>

namespace exprun {
namespace {

// A shell that was told to ignore hang-ups (nohup) has told its children so.
bool ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

ForwardedSignals::ForwardedSignals() {
  ::signal(SIGCHLD, SIG_DFL);  // inherited as ignored, the end of a child could not be seen
  sigemptyset(&set_);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR2, SIGCHLD, SIGTSTP}) sigaddset(&set_, signal);
  if (!ignored(SIGHUP)) sigaddset(&set_, SIGHUP);
  sigprocmask(SIG_BLOCK, &set_, &former_);
}

ForwardedSignals::~ForwardedSignals() {
  sigprocmask(SIG_SETMASK, &former_, nullptr);
}

}  // namespace exprun
