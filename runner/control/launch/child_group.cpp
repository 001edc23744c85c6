#include "control/launch/child_group.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/exit_code.h"

namespace exprun {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{5};
constexpr timespec kLook{0, 100'000'000};

// The higher, the more likely the cause of what the others did.
int gravity(const ChildEnd& end) {
  if (end.signal) return 3;
  switch (static_cast<ExitCode>(end.exit_code.value_or(1))) {
    case ExitCode::done:
    case ExitCode::diverged:
    case ExitCode::preempted:
    case ExitCode::interrupted_int:
    case ExitCode::interrupted_term:
      return 0;
    case ExitCode::lost_ranks:
      return 1;
    default:
      return 2;
  }
}

class Group {
 public:
  Group(const std::vector<ChildCommand>& commands, const ForwardedSignals& signals)
      : signals_(signals) {
    try {
      for (const ChildCommand& command : commands)
        children_.push_back({start_child(command, signals), std::nullopt});
    } catch (...) {
      kill_all();
      throw;
    }
  }

  GroupEnd wait() {
    while (!all_ended()) {
      const int signal = next_signal();
      if (signal > 0 && signal != SIGCHLD) pass_on(signal);
      look_for_ends();
      if (failed_at_ && Clock::now() - *failed_at_ > kPatience) kill_living();
    }
    return {cause_, *children_[cause_].end};
  }

 private:
  struct Child {
    pid_t pid = 0;
    std::optional<ChildEnd> end;
  };

  bool all_ended() const {
    return std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.end; });
  }

  // A signal, or none: interrupted by one outside the set, or time to look at the clock.
  int next_signal() const {
    return failed_at_ ? ::sigtimedwait(&signals_.set(), nullptr, &kLook)
                      : ::sigwaitinfo(&signals_.set(), nullptr);
  }

  void look_for_ends() {
    for (size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      if (child.end || !(child.end = take_end(child.pid)) || killed_) continue;
      const int found = gravity(*child.end);
      if (found > 0 && !failed_at_) failed_at_ = Clock::now();
      if (found > worst_ || (found == worst_ && i == 0)) {
        worst_ = found;
        cause_ = i;
      }
    }
  }

  void pass_on(int signal) {
    if (signal == SIGTSTP) {
      send(SIGSTOP);
      ::raise(SIGSTOP);  // returns when the shell continues us
      send(SIGCONT);
    } else {
      send(signal == SIGHUP ? SIGTERM : signal);
    }
  }

  void send(int signal) const {
    for (const Child& child : children_)
      if (!child.end) ::kill(child.pid, signal);
  }

  void kill_living() {
    killed_ = true;  // their ends are our doing
    send(SIGKILL);
  }

  void kill_all() {
    send(SIGKILL);
    for (const Child& child : children_) ::waitpid(child.pid, nullptr, 0);
  }

  const ForwardedSignals& signals_;
  std::vector<Child> children_;
  std::optional<Clock::time_point> failed_at_;
  int worst_ = 0;
  size_t cause_ = 0;
  bool killed_ = false;
};

}  // namespace

GroupEnd run_children(const std::vector<ChildCommand>& commands, const ForwardedSignals& signals,
                      const std::function<void()>& all_started) {
  Group group(commands, signals);
  all_started();
  return group.wait();
}

}  // namespace exprun
