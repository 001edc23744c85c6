#include "control/launch/ranks/farewell.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <vector>

#include "base/diagnostic.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "control/launch/process/capture.h"
#include "control/launch/ranks/rank_words.h"
#include "control/launch/trainer_program.h"

namespace exprun {
namespace {

constexpr std::chrono::seconds kComing{5};
constexpr std::chrono::minutes kStarting{10};  // or they would meet the next command
constexpr std::chrono::seconds kComingBack{15};

// An argument has at most 128 KiB.
constexpr size_t kMostOfAReason = size_t{64} << 10;

std::vector<std::string> dismissal(const JoinedRank& joined, int exit_code, const std::string& why,
                                   std::chrono::seconds patience) {
  ChildCommand command{
      {trainer_program().string(), "--dismiss", std::to_string(exit_code)}, {}, {}, {}, {}};
  if (!why.empty()) add_option(command, "--because", why.substr(0, kMostOfAReason));
  add_place(command, joined);
  add_option(command, "--meeting-seconds", std::to_string(patience.count()));
  return command.words;
}

// Laid out before any signal: a handler may only make system calls.
struct Farewell {
  int signal = 0;
  ExitCode code = ExitCode::failed;
  std::vector<std::string> words;
  std::vector<char*> argv;
  struct sigaction former {};
};
std::array<Farewell, 3> farewells;

void say_farewell(int signal) {
  for (const Farewell& farewell : farewells) {
    if (farewell.signal != signal) continue;
    ::execv(farewell.argv[0], farewell.argv.data());
    ::_exit(static_cast<int>(farewell.code));
  }
}

void dismiss_within(std::chrono::seconds patience, const JoinedRank& joined, int exit_code,
                    const std::string& why) {
  try {
    if (joined.meeting_point) joined.meeting_point->fd = UniqueFd();
    capture(dismissal(joined, exit_code, why, patience), "");
  } catch (const Error& error) {
    log_warning(error.what());
  }
}

}  // namespace

void dismiss_others(const JoinedRank& joined, int exit_code, const std::string& why) {
  dismiss_within(joined.store_is_served ? kStarting : kComing, joined, exit_code, why);
}

void dismiss_restarted(const JoinedRank& joined, int exit_code, const std::string& why) {
  log_info("launch: the ranks of other machines are told that there will be no restart");
  dismiss_within(kComingBack, joined, exit_code, why);
}

void dismiss_others_when_stopped(const JoinedRank& joined) {
  farewells = {Farewell{SIGUSR2, ExitCode::preempted, {}, {}, {}},
               Farewell{SIGTERM, ExitCode::interrupted_term, {}, {}, {}},
               Farewell{SIGINT, ExitCode::interrupted_int, {}, {}, {}}};
  struct sigaction action {};
  action.sa_handler = say_farewell;
  action.sa_flags = SA_NODEFER;  // or the signal would stay blocked behind exec
  sigemptyset(&action.sa_mask);
  for (Farewell& farewell : farewells) {
    farewell.words = dismissal(joined, static_cast<int>(farewell.code), "", kComing);
    farewell.argv = argv_of(farewell.words);
    ::sigaction(farewell.signal, &action, &farewell.former);
  }
}

void leave_signals_to_trainer() {
  for (const Farewell& farewell : farewells)
    if (farewell.signal) ::sigaction(farewell.signal, &farewell.former, nullptr);
}

}  // namespace exprun
