// A child process that never outlives its launcher, and whose end is seen exactly.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace exprun {

// While one of these lives, the signals that stop or pause this process wait for a child to be
// passed on to, so that none is lost between the run's row and its trainer.
class ForwardedSignals {
 public:
  // `prunable`: also SIGUSR1, by which a sweep stops a trial early.
  explicit ForwardedSignals(bool prunable = false);
  ~ForwardedSignals();
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

  const sigset_t& set() const { return set_; }             // SIGCHLD is among them
  const sigset_t& former_mask() const { return former_; }  // what the child starts with

 private:
  sigset_t set_;
  sigset_t former_;
};

// From now on output that nobody reads any more (`| head`) is lost and does not end this process:
// a training goes on, and the exit code tells how it ended. Children start without it.
void outlive_readers();

// What Ctrl-Z asks for, of a process in which it waits in ForwardedSignals: returns when a shell
// continues it, or at once where there is no shell that could.
void suspend_self();

using EnvironmentVariables = std::vector<std::pair<std::string, std::string>>;

struct ChildCommand {
  std::vector<std::string> words;    // the program's file first
  EnvironmentVariables environment;  // unless set already
  std::vector<int> kept_fds;         // the descriptors above 2 that the child gets
  // Whether stop signals wait until the child unblocks them (watch_stop_signals does): a program
  // that links LibTorch loads for 0.2 s before it can take one.
  bool holds_stop_signals = false;
  std::filesystem::path log = {};        // gets both outputs, after what is there; empty: ours
  int output = -1;                       // or this descriptor does
  std::string input = {};                // what it reads from standard input
  std::vector<int> cpus = {};            // that it may run on, by the kernel's numbers; empty: ours
  EnvironmentVariables overriding = {};  // set already or not
};

// One of the two.
struct ChildEnd {
  std::optional<int> exit_code, signal;
};

// Starts the child in a process group of its own, so that Ctrl-C reaches it once, from here. At the
// launcher's death the kernel sends it SIGTERM. Throws Error when it cannot be started.
pid_t start_child(const ChildCommand& command, const ForwardedSignals& signals);

// Its end, if it has ended; it is then gone.
std::optional<ChildEnd> take_end(pid_t child);

// The one way in which children begin: none outlives this process.
struct ProcessStart {
  std::vector<std::string> words;        // the program first, sought on the PATH without a slash
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  int at_launchers_death = 0;            // the signal that the kernel sends it then

  // In the child, before it becomes the program: system calls only.
  std::function<void()> set_up = [] {};
};

// Throws Error when the program cannot be started.
pid_t start_process(const ProcessStart& start);

// In set_up: the program gets a descriptor of this process under a number of its own.
void pass_descriptor(int fd, int as);

// This process's own, with those that are not set in it.
std::vector<std::string> environment_with(const EnvironmentVariables& unless_set);

// Runs a program to its end for what it prints.
struct Captured {
  int status = 0;      // exit code, or 128 + signal
  std::string output;  // standard output; standard error is this process's own
};

struct CaptureOptions {
  bool silent = false;                    // its standard error is dropped
  size_t most_bytes = SIZE_MAX;           // of output; a program that prints more is cut off
  EnvironmentVariables environment = {};  // unless set already
};

// `input` is its standard input. It is killed when this process dies, or is asked to stop (see
// base/process/signals.h). Throws Error when it cannot be started.
Captured capture(const std::vector<std::string>& words, const std::string& input,
                 const CaptureOptions& options = {});

}  // namespace exprun
