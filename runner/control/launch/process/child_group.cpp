#include "control/launch/process/child_group.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/diagnostic.h"
#include "base/log.h"

namespace exprun {
namespace {

using Clock = std::chrono::steady_clock;

constexpr timespec kLook{0, 100'000'000};

constexpr int kLoss = 1;  // the severity of having lost the others

// The higher, the more likely the cause of what the others did.
int severity(const ChildEnd& end) {
  if (end.signal) return 3;
  switch (static_cast<ExitCode>(end.exit_code.value_or(1))) {
    case ExitCode::done:
    case ExitCode::diverged:
    case ExitCode::preempted:
    case ExitCode::interrupted_int:
    case ExitCode::interrupted_term:
      return 0;
    case ExitCode::lost_ranks:
      return kLoss;
    default:
      return 2;
  }
}

class Group {
 public:
  Group(const std::vector<ChildCommand>& commands, const ForwardedSignals& signals,
        const GroupPatience& patience)
      : signals_(signals), patience_(patience) {
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
      if (late_ && Clock::now() > *late_) kill_living();
    }
    return {*cause_, *children_[*cause_].end, was_told_to_stop_, stopped_by_sweep_};
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
    return late_ ? ::sigtimedwait(&signals_.set(), nullptr, &kLook)
                 : ::sigwaitinfo(&signals_.set(), nullptr);
  }

  void look_for_ends() {
    for (size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      if (child.end || !(child.end = take_end(child.pid)) || killed_) continue;
      const int found = severity(*child.end);
      be_patient_for(patience_behind(found));
      if (!cause_ || found > worst_ || (found == worst_ && i == 0)) {
        worst_ = found;
        cause_ = i;
      }
    }
  }

  std::chrono::milliseconds patience_behind(int severity_of_end) const {
    if (severity_of_end == 0) return patience_.behind_success;
    return severity_of_end == kLoss ? patience_.behind_loss : patience_.behind_failure;
  }

  void be_patient_for(std::chrono::milliseconds time) {
    const auto late = Clock::now() + time;
    late_ = late_ ? std::min(*late_, late) : late;
  }

  void pass_on(int signal) {
    if (signal == SIGTSTP) {
      send(SIGSTOP);
      suspend_self();
      send(SIGCONT);
    } else {
      // What a sweep asks for adds nothing to a stop that is under way: a second request would end
      // the children before they have saved.
      if (signal == SIGUSR1 && was_told_to_stop_) return;
      stopped_by_sweep_ |= signal == SIGUSR1;
      was_told_to_stop_ = true;
      // `timeout` signals a process and its group: the second copy may come when the children have
      // ended, and must not kill the one who has to say how. While children live, signals are
      // blocked, so that sigwaitinfo still gets a second one: that is passed on too.
      ::signal(signal, SIG_IGN);
      send(signal == SIGHUP || signal == SIGUSR1 ? SIGTERM : signal);
    }
  }

  void send(int signal) const {
    for (const Child& child : children_)
      if (!child.end) ::kill(child.pid, signal);
  }

  void kill_living() {
    if (!killed_ && worst_ == 0)
      log_warning("launch: a rank hung while exiting, after the others, and was killed");
    killed_ = true;  // their ends are our doing
    send(SIGKILL);
  }

  void kill_all() {
    send(SIGKILL);
    for (const Child& child : children_) ::waitpid(child.pid, nullptr, 0);
  }

  const ForwardedSignals& signals_;
  GroupPatience patience_;
  std::vector<Child> children_;
  std::optional<Clock::time_point> late_;  // to end, for those who still live
  int worst_ = 0;
  std::optional<size_t> cause_;
  bool killed_ = false;
  bool was_told_to_stop_ = false;
  bool stopped_by_sweep_ = false;
};

}  // namespace

GroupEnd run_children(const std::vector<ChildCommand>& commands, const ForwardedSignals& signals,
                      const std::function<void()>& all_started, const GroupPatience& patience) {
  Group group(commands, signals, patience);
  all_started();
  return group.wait();
}

}  // namespace exprun
