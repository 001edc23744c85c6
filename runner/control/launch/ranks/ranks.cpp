#include "control/launch/ranks/ranks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/diagnostic.h"
#include "base/exit_code.h"
#include "control/launch/end_state.h"
#include "control/launch/process/capture.h"
#include "control/launch/process/child_group.h"
#include "control/launch/ranks/allowed_restarts.h"
#include "control/launch/trainer_program.h"

namespace exprun {
namespace {

// For people who start the other machines.
constexpr std::chrono::minutes kPatienceWithMachines{10};

// Where another launcher starts all ranks at once, as far as machines boot alike.
constexpr std::chrono::minutes kPatienceWithLauncher{2};

// In which rank 0 may have an hour of data to prepare; it listens meanwhile.
constexpr std::chrono::hours kPatienceWithRank0{2};

void add(ChildCommand& command, const std::string& option, const std::string& value) {
  command.words.push_back(option);
  command.words.push_back(value);
}

// This process, and those that it becomes or starts.
const std::string& this_command() {
  static const std::string id = std::to_string(::getpid()) + "-" + std::to_string(now_ms());
  return id;
}

void place(ChildCommand& command, const JoinedRank& place) {
  add(command, "--rank", std::to_string(place.rank));
  add(command, "--world-size", std::to_string(place.world_size));
  add(command, "--local-rank", std::to_string(place.local_rank));
  add(command, "--rendezvous", place.address + ":" + std::to_string(place.port));
  add(command, "--restarts", std::to_string(place.restarts));
  add(command, "--ranks-here", std::to_string(place.ranks_here));
  if (place.store_is_served) {
    command.words.push_back("--rendezvous-served");
    add(command, "--command", this_command());
  }
  if (!place.restarts_here) command.words.push_back("--joined");
  if (!place.job.empty()) add(command, "--job", place.job);
}

JoinedRank behind(JoinedRank first, int ranks) {
  first.rank += ranks;
  first.local_rank += ranks;
  return first;
}

void meet_within(ChildCommand& command, std::chrono::seconds time) {
  add(command, "--meeting-seconds", std::to_string(time.count()));
}

// Beside rank 0, on its machine.
ChildCommand neighbour(const ChildCommand& single, const std::filesystem::path& log) {
  ChildCommand command;
  command.words = {single.words[0], "--follow"};
  for (const char* level : {"--quiet", "--verbose"})
    if (std::count(single.words.begin(), single.words.end(), level)) command.words.push_back(level);
  command.environment = single.environment;
  command.holds_stop_signals = single.holds_stop_signals;
  command.log = log;
  return command;
}

// Where rank 0 is started elsewhere, and speaks there: only it says on what device they train.
ChildCommand follower(const JoinedRank& joined, const OwnHash& recipe, LogLevel level) {
  ChildCommand command{
      {able_trainer_program().string(), "--follow"}, trainer_environment(), {}, {}, {}};
  place(command, joined);
  if (recipe) add(command, "--recipe-hash", *recipe);
  meet_within(command, joined.restarts ? kPatienceWithMachines : kPatienceWithRank0);
  const std::chrono::seconds absence =
      joined.restarts_here ? kPatienceWithMachines : kPatienceWithLauncher;
  if (!joined.store_is_served) add(command, "--absence-seconds", std::to_string(absence.count()));
  command.words.push_back(level == LogLevel::debug ? "--verbose" : "--quiet");
  return command;
}

// Of one machine: its first rank says what rank 0 allows.
std::vector<ChildCommand> followers(const JoinedRank& joined, const OwnHash& recipe, LogLevel level,
                                    const AllowedRestarts& allowed) {
  std::vector<ChildCommand> commands;
  for (int rank = 0; rank < joined.ranks_here; ++rank)
    commands.push_back(follower(behind(joined, rank), recipe, level));
  add(commands[0], "--restarts-fd", std::to_string(allowed.fd()));
  commands[0].kept_fds.push_back(allowed.fd());
  return commands;
}

// A rank that fails has said why; one that a signal ends cannot.
void show_death(const JoinedRank& first, const GroupEnd& end) {
  if (end.end.signal && !end.was_told_to_stop)
    log(LogLevel::error, "rank " + std::to_string(behind(first, static_cast<int>(end.child)).rank) +
                             ": " + signal_message(end.end));
}

// An argument has at most 128 KiB.
constexpr size_t kMostOfAReason = size_t{64} << 10;

std::vector<std::string> dismissal(const JoinedRank& joined, int exit_code,
                                   const std::string& why) {
  ChildCommand command{
      {trainer_program().string(), "--dismiss", std::to_string(exit_code)}, {}, {}, {}, {}};
  if (!why.empty()) add(command, "--because", why.substr(0, kMostOfAReason));
  place(command, joined);
  meet_within(command, std::chrono::seconds(5));
  return command.words;
}

std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
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

}  // namespace

int world_size(const ResolvedRecipe& resolved) {
  const auto* size = resolved.find("parallelism.world_size")->as<int64_t>();
  return size ? static_cast<int>(*size) : 1;
}

RecipeText with_world_size(RecipeText text, int ranks) {
  std::erase_if(text.overrides, [](const std::string& word) {
    const std::string key = word.substr(0, word.find('='));
    return key == "world_size" || key == "parallelism.world_size";
  });
  text.overrides.push_back("parallelism.world_size=" + std::to_string(ranks));
  return text;
}

JoinedRank ranks_of_one_machine(int world_size) {
  JoinedRank all;
  all.world_size = all.ranks_here = world_size;
  all.restarts_here = true;
  all.address = "127.0.0.1";
  return all;
}

ListeningSocket meeting_point_of(const JoinedRank& rank_0) {
  if (rank_0.meeting_point && rank_0.meeting_point->fd) return std::move(*rank_0.meeting_point);
  return listen_on_all_interfaces(rank_0.port);
}

std::vector<ChildCommand> rank_commands(const ChildCommand& single, const JoinedRank& ranks,
                                        const ListeningSocket& rendezvous,
                                        const std::function<std::filesystem::path(int)>& log) {
  std::vector<ChildCommand> commands{single};
  commands[0].kept_fds.push_back(rendezvous.fd.get());
  add(commands[0], "--rendezvous-fd", std::to_string(rendezvous.fd.get()));
  for (int rank = 1; rank < ranks.ranks_here; ++rank)
    commands.push_back(neighbour(single, log(rank)));
  JoinedRank at = ranks;
  at.port = rendezvous.port;
  const bool all_here = ranks.ranks_here == ranks.world_size;
  const std::chrono::minutes patience = all_here              ? std::chrono::minutes(1)
                                        : ranks.restarts_here ? kPatienceWithMachines
                                                              : kPatienceWithLauncher;
  for (int rank = 0; rank < ranks.ranks_here; ++rank) {
    ChildCommand& command = commands[static_cast<size_t>(rank)];
    place(command, behind(at, rank));
    meet_within(command, patience);
  }
  return commands;
}

ChildCommand joined_command(ChildCommand single, const JoinedRank& joined) {
  place(single, joined);
  return single;
}

void follow(const JoinedRank& joined, const OwnHash& recipe, LogLevel level) {
  ChildCommand command = follower(joined, recipe, level);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 0);
  const std::vector<char*> argv = argv_of(command.words);
  ::execv(argv[0], argv.data());
  throw Error("launch: cannot start " + command.words[0] + ": " + std::strerror(errno));
}

int follow_with_all(JoinedRank joined, const OwnHash& recipe, LogLevel level) {
  log_info("launch: ranks " + std::to_string(joined.rank) + " to " +
           std::to_string(joined.rank + joined.ranks_here - 1) + " of " +
           std::to_string(joined.world_size) + "; waiting for rank 0 at " + joined.address + ":" +
           std::to_string(joined.port));
  const ForwardedSignals signals;
  for (AllowedRestarts allowed;; allowed.forget()) {
    const GroupEnd end = run_children(followers(joined, recipe, level, allowed), signals);
    show_death(joined, end);
    const auto restarts = allowed.heard();
    if (!restarts || restarts->so_far >= restarts->most || end.was_told_to_stop ||
        !deserves_restart(end.end))
      return exit_status(end.end);
    joined.restarts = restarts->so_far + 1;
    log_warning("launch: restart " + std::to_string(joined.restarts) + " of " +
                std::to_string(restarts->most) + " of all ranks");
  }
}

void dismiss_others(const JoinedRank& joined, int exit_code, const std::string& why) {
  try {
    if (joined.meeting_point) joined.meeting_point->fd = UniqueFd();
    capture(dismissal(joined, exit_code, why), "");
  } catch (const Error& error) {
    log_warning(error.what());
  }
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
    farewell.words = dismissal(joined, static_cast<int>(farewell.code), "");
    farewell.argv = argv_of(farewell.words);
    ::sigaction(farewell.signal, &action, &farewell.former);
  }
}

void leave_signals_to_trainer() {
  for (const Farewell& farewell : farewells)
    if (farewell.signal) ::sigaction(farewell.signal, &farewell.former, nullptr);
}

}  // namespace exprun
