// While one of these lives, the signals that stop or pause this process wait for a child to be
// passed on to (child.h), so that none is lost between the run's row and its trainer.
#pragma once

#include <signal.h>

namespace exprun {

class ForwardedSignals {
 public:
  ForwardedSignals();
  ~ForwardedSignals();
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

  const sigset_t& set() const { return set_; }             // SIGCHLD is among them
  const sigset_t& former_mask() const { return former_; }  // what the child starts with

 private:
  sigset_t set_;
  sigset_t former_;
};

}  // namespace exprun
