#include "control/launch/ranks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/diagnostic.h"
#include "base/exit_code.h"
#include "control/launch/capture.h"
#include "control/launch/trainer_program.h"

namespace exprun {
namespace {

void add(ChildCommand& command, const std::string& option, const std::string& value) {
  command.words.push_back(option);
  command.words.push_back(value);
}

// Their ports differ from run to run, so there is nothing to tell lives apart by.
JoinedRank local_rank(int rank, int world_size, const ListeningSocket& rendezvous) {
  JoinedRank local;
  local.rank = rank;
  local.world_size = world_size;
  local.address = "127.0.0.1";
  local.port = rendezvous.port;
  return local;
}

void place(ChildCommand& command, const JoinedRank& place) {
  add(command, "--rank", std::to_string(place.rank));
  add(command, "--world-size", std::to_string(place.world_size));
  add(command, "--rendezvous", place.address + ":" + std::to_string(place.port));
  add(command, "--restarts", std::to_string(place.restarts));
  if (place.store_is_served) command.words.push_back("--rendezvous-served");
}

ChildCommand follower(const ChildCommand& single, const std::filesystem::path& log) {
  ChildCommand command;
  command.words = {single.words[0], "--follow"};
  for (const char* level : {"--quiet", "--verbose"})
    if (std::count(single.words.begin(), single.words.end(), level)) command.words.push_back(level);
  command.environment = single.environment;
  command.holds_stop_signals = single.holds_stop_signals;
  command.log = log;
  return command;
}

std::vector<std::string> dismissal(const JoinedRank& joined, int exit_code) {
  ChildCommand command{
      {trainer_program().string(), "--dismiss", std::to_string(exit_code)}, {}, {}, {}, {}};
  place(command, joined);
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

std::vector<ChildCommand> rank_commands(const ChildCommand& single, int world_size,
                                        const ListeningSocket& rendezvous,
                                        const std::function<std::filesystem::path(int)>& log) {
  std::vector<ChildCommand> commands{single};
  commands[0].kept_fds.push_back(rendezvous.fd.get());
  add(commands[0], "--rendezvous-fd", std::to_string(rendezvous.fd.get()));
  for (int rank = 1; rank < world_size; ++rank) commands.push_back(follower(single, log(rank)));
  for (int rank = 0; rank < world_size; ++rank)
    place(commands[static_cast<size_t>(rank)], local_rank(rank, world_size, rendezvous));
  return commands;
}

ChildCommand joined_command(ChildCommand single, const JoinedRank& joined) {
  place(single, joined);
  return single;
}

void follow(const JoinedRank& joined, const std::optional<std::string>& recipe_hash,
            LogLevel level) {
  ChildCommand command{{trainer_program().string(), "--follow"}, trainer_environment(), {}, {}, {}};
  place(command, joined);
  if (recipe_hash) add(command, "--recipe-hash", *recipe_hash);
  add(command, "--meeting-minutes", "120");  // rank 0 may have an hour of data to prepare first
  command.words.push_back(level == LogLevel::debug ? "--verbose" : "--quiet");  // rank 0 speaks
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 0);
  const std::vector<char*> argv = argv_of(command.words);
  ::execv(argv[0], argv.data());
  throw Error("launch: cannot start " + command.words[0] + ": " + std::strerror(errno));
}

void dismiss_others(const JoinedRank& joined, int exit_code) {
  try {
    capture(dismissal(joined, exit_code), "");
  } catch (const Error& error) {
    log_warning(error.what());
  }
}

void dismiss_others_when_stopped(const JoinedRank& joined) {
  farewells = {Farewell{SIGUSR2, ExitCode::preempted, {}, {}},
               Farewell{SIGTERM, ExitCode::interrupted_term, {}, {}},
               Farewell{SIGINT, ExitCode::interrupted_int, {}, {}}};
  struct sigaction action {};
  action.sa_handler = say_farewell;
  action.sa_flags = SA_NODEFER;  // or the signal would stay blocked behind exec
  sigemptyset(&action.sa_mask);
  for (Farewell& farewell : farewells) {
    farewell.words = dismissal(joined, static_cast<int>(farewell.code));
    farewell.argv = argv_of(farewell.words);
    ::sigaction(farewell.signal, &action, nullptr);
  }
}

}  // namespace exprun
