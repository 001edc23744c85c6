#include "control/launch/ranks/distributed_command.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/machine/network.h"
#include "base/process/signals.h"
#include "base/terminal/console.h"
#include "control/launch/process/child_group.h"
#include "control/launch/process/child_process.h"
#include "control/launch/process/trainer_end.h"
#include "control/launch/provenance.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/run_device.h"
#include "control/launch/supervise.h"
#include "control/launch/trainer_program.h"

namespace exprun {
namespace {

// What rank 0 lets a machine without it do when its ranks have ended: one of them writes it down
// when it hears from rank 0, and the launcher that has started them reads it.
struct Restarts {
  int so_far = 0, most = 0;  // of all ranks, as rank 0 counts them
};

class AllowedRestarts {
 public:
  AllowedRestarts();  // throws Error

  int fd() const { return file_.get(); }  // for the ranks

  // Nothing if they have heard nothing, or are told to shut down.
  std::optional<Restarts> heard() const;

  void forget();  // before a restart

 private:
  UniqueFd file_;  // in memory
};

AllowedRestarts::AllowedRestarts() : file_(::memfd_create("restarts", MFD_CLOEXEC)) {
  if (!file_)
    throw Error(std::string("launch: cannot make a file in memory: ") + std::strerror(errno));
}

std::optional<Restarts> AllowedRestarts::heard() const {
  char text[64];
  const ssize_t size = ::pread(file_.get(), text, sizeof text, 0);
  if (size <= 0) return std::nullopt;
  std::istringstream words(std::string(text, static_cast<size_t>(size)));
  Restarts restarts;
  if (!(words >> restarts.so_far >> restarts.most)) return std::nullopt;
  return restarts;
}

void AllowedRestarts::forget() {
  if (::ftruncate(file_.get(), 0) != 0)
    throw Error(std::string("launch: cannot empty a file in memory: ") + std::strerror(errno));
}

// Where rank 0 is started elsewhere, and speaks there: only it says on what device they train.
ChildCommand follower(const LocalRanks& ranks, const OwnHash& recipe, LogLevel level) {
  ChildCommand command{
      {able_trainer_program().string(), "--follow"}, trainer_environment(), {}, {}, {}};
  add_place(command, ranks);
  if (recipe) add_option(command, "--recipe-hash", *recipe);
  command.words.push_back(level == LogLevel::debug ? "--verbose" : "--quiet");
  return command;
}

// Of one machine: its first rank says what rank 0 allows.
std::vector<ChildCommand> followers(const LocalRanks& ranks, const OwnHash& recipe, LogLevel level,
                                    const AllowedRestarts& allowed) {
  std::vector<ChildCommand> commands;
  for (int rank = 0; rank < ranks.ranks_here; ++rank)
    commands.push_back(follower(behind(ranks, rank), recipe, level));
  add_option(commands[0], "--restarts-fd", std::to_string(allowed.fd()));
  commands[0].kept_fds.push_back(allowed.fd());
  return commands;
}

// A rank that fails has said why; one that a signal ends cannot.
void show_death(const LocalRanks& first, const GroupEnd& end) {
  if (end.end.signal && !end.was_told_to_stop)
    log(LogLevel::error, "rank " + std::to_string(behind(first, static_cast<int>(end.child)).rank) +
                             ": " + signal_message(end.end));
}

// This process becomes the trainer of a rank above 0. Throws Error when it cannot.
[[noreturn]] void follow(const LocalRanks& ranks, const OwnHash& recipe, LogLevel level) {
  ChildCommand command = follower(ranks, recipe, level);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 0);
  const std::vector<char*> argv = argv_of(command.words);
  ::execv(argv[0], argv.data());
  throw Error("launch: cannot start " + command.words[0] + ": " + std::strerror(errno));
}

// The ranks of a machine without rank 0, to their end; restarted when those of rank 0's machine
// are, as often as rank 0's recipe says. Returns the exit code. Throws Error.
int follow_with_all(LocalRanks ranks, const OwnHash& recipe, LogLevel level) {
  log_info("launch: ranks " + std::to_string(ranks.rank) + " to " +
           std::to_string(ranks.rank + ranks.ranks_here - 1) + " of " +
           std::to_string(ranks.world_size) + "; waiting for rank 0 at " + ranks.address + ":" +
           std::to_string(ranks.port));
  const ForwardedSignals signals;
  for (AllowedRestarts allowed;; allowed.forget()) {
    const GroupEnd end = run_children(followers(ranks, recipe, level, allowed), signals);
    show_death(ranks, end);
    const auto restarts = allowed.heard();
    if (!restarts || restarts->so_far >= restarts->most || end.was_told_to_stop ||
        !deserves_restart(end.end))
      return exit_status(end.end);
    ranks.restarts = restarts->so_far + 1;
    log_warning("launch: restart " + std::to_string(ranks.restarts) + " of " +
                std::to_string(restarts->most) + " of all ranks");
  }
}

// Rank 0's command, when it does not train, or no more: the others must not wait for it.

constexpr std::chrono::seconds kComing{5};
constexpr std::chrono::minutes kStarting{10};  // or they would meet the next command
constexpr std::chrono::seconds kComingBack{15};

// An argument has at most 128 KiB.
constexpr size_t kMostOfAReason = size_t{64} << 10;

std::vector<std::string> shutdown_notice(const LocalRanks& ranks, int exit_code,
                                         const std::string& why, std::chrono::seconds patience) {
  ChildCommand command{
      {trainer_program().string(), "--shut-down-others", std::to_string(exit_code)},
      {},
      {},
      {},
      {}};
  if (!why.empty()) add_option(command, "--because", why.substr(0, kMostOfAReason));
  add_place(command, ranks);
  add_option(command, "--meeting-seconds", std::to_string(patience.count()));
  return command.words;
}

// Laid out before any signal: a handler may only make system calls.
struct WorkerRelease {
  int signal = 0;
  ExitCode code = ExitCode::failed;
  std::vector<std::string> words;
  std::vector<char*> argv;
  struct sigaction former {};
};
std::array<WorkerRelease, 3> worker_releases;

void release_workers(int signal) {
  for (const WorkerRelease& worker_release : worker_releases) {
    if (worker_release.signal != signal) continue;
    ::execv(worker_release.argv[0], worker_release.argv.data());
    ::_exit(static_cast<int>(worker_release.code));
  }
}

void shut_down_within(std::chrono::seconds patience, const LocalRanks& ranks, int exit_code,
                      const std::string& why) {
  try {
    if (ranks.rendezvous_point) ranks.rendezvous_point->fd = UniqueFd();
    capture(shutdown_notice(ranks, exit_code, why, patience), "");
  } catch (const Error& error) {
    log_warning(error.what());
  }
}

// The others, who wait for rank 0 or are just coming, end with this exit code, if they come in
// time: within 5 s, but ten minutes where their launcher ends this process if they do not live.
// `why`: of a failure, for people and for the files in which torchrun looks for it. Never throws.
void shut_down_others(const LocalRanks& ranks, int exit_code, const std::string& why) {
  shut_down_within(ranks.store_is_served ? kStarting : kComing, ranks, exit_code, why);
}

// The same for those of other machines who have trained along, and are started again when they have
// noticed that rank 0 is gone.
void shut_down_restarted(const LocalRanks& ranks, int exit_code, const std::string& why) {
  log_info("launch: the ranks of other machines are told that there will be no restart");
  shut_down_within(kComingBack, ranks, exit_code, why);
}

// The same if SIGUSR2, SIGTERM or SIGINT ends this process before its trainer has been started: it
// becomes the one that shuts them down, and ends with the signal's exit code.
void shut_down_others_when_stopped(const LocalRanks& ranks) {
  worker_releases = {WorkerRelease{SIGUSR2, ExitCode::preempted, {}, {}, {}},
                     WorkerRelease{SIGTERM, ExitCode::interrupted_term, {}, {}, {}},
                     WorkerRelease{SIGINT, ExitCode::interrupted_int, {}, {}, {}}};
  struct sigaction action {};
  action.sa_handler = release_workers;
  action.sa_flags = SA_NODEFER;  // or the signal would stay blocked after exec
  sigemptyset(&action.sa_mask);
  for (WorkerRelease& worker_release : worker_releases) {
    worker_release.words =
        shutdown_notice(ranks, static_cast<int>(worker_release.code), "", kComing);
    worker_release.argv = argv_of(worker_release.words);
    ::sigaction(worker_release.signal, &action, &worker_release.former);
  }
}

}  // namespace

void leave_signals_to_trainer() {
  for (const WorkerRelease& worker_release : worker_releases)
    if (worker_release.signal) ::sigaction(worker_release.signal, &worker_release.former, nullptr);
}

namespace {

// Before all else: a mistake in it shows itself at once, on every rank, and the others see that
// rank 0 will come.
LocalRanks with_rendezvous_point(LocalRanks ranks) {
  if (ranks.store_is_served) return ranks;
  try {
    addresses_of(ranks.address);
    if (ranks.rank == 0)
      ranks.rendezvous_point =
          std::make_shared<ListeningSocket>(listen_on_all_interfaces(ranks.port));
    return ranks;
  } catch (const Error& error) {
    write_error_file(error.what());
    throw;
  }
}

int perform_as_rank_0(const LocalRanks& ranks, const Perform& perform) {
  shut_down_others_when_stopped(ranks);
  try {
    const Performed performed = perform(ranks);
    leave_signals_to_trainer();
    if (!performed.trained) shut_down_others(ranks, performed.exit_code, performed.why);
    if (performed.others_wait) shut_down_restarted(ranks, performed.exit_code, performed.why);
    return performed.exit_code;
  } catch (const std::exception& error) {
    leave_signals_to_trainer();
    write_error_file(error.what());
    const int code = show_error(error);
    shut_down_others(ranks, code, error.what());
    return code;
  }
}

}  // namespace

Performed performed(const Launch& launched) {
  return {*launched.exit_code, true, launched.others_wait, launched.run.message};
}

void require_no_external_launcher(const std::string& command) {
  if (const auto ranks = external_rank())
    throw Error(
        command + ": an external launcher has started this command " +
            std::to_string(ranks->world_size) +
            " times, once per rank; start it once, without torchrun or mpirun, or with srun "
            "-n1, and set the number of ranks with parallelism.world_size",
        ExitCode::bad_recipe);
}

int perform_among_ranks(LogLevel level, const Perform& perform) {
  return perform_among_ranks(level, external_rank(), perform);
}

int perform_among_ranks(LogLevel level, const std::optional<LocalRanks>& ranks,
                        const Perform& perform) {
  return perform_among_ranks(
      level, ranks, [](const auto&) { return OwnHash(); }, perform);
}

int perform_among_ranks(LogLevel level, const std::optional<LocalRanks>& ranks,
                        const OwnRecipeReader& own_recipe, const Perform& perform) {
  end_when_preempted();
  outlive_readers();
  if (!ranks) return perform(ranks).exit_code;
  const LocalRanks met = with_rendezvous_point(*ranks);
  if (met.rank > 0 && met.restarts_here) return follow_with_all(met, own_recipe(met), level);
  if (met.rank > 0) follow(met, own_recipe(met), level);
  return perform_as_rank_0(met, perform);
}

RecipeText with_world_size_of(const std::optional<LocalRanks>& ranks, RecipeText text) {
  return ranks ? with_world_size(std::move(text), ranks->world_size)
               : with_a_rank_a_gpu(std::move(text), gpu_offer());
}

void await_previous_attempt(bool restarted, const std::function<bool()>& run_is_free) {
  constexpr std::chrono::seconds kPatience{40};
  const auto late = std::chrono::steady_clock::now() + kPatience;
  while (!run_is_free() && restarted && std::chrono::steady_clock::now() < late)
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

namespace {

bool says_how_many(const std::string& override) {
  return override.starts_with("world_size=") || override.starts_with("parallelism.world_size=");
}

}  // namespace

void require_ranks_for_one_machine(const Store& store, const RunRow& run,
                                   const std::string& command,
                                   const std::vector<std::string>& overrides) {
  if (std::any_of(overrides.begin(), overrides.end(), says_how_many)) return;
  const auto environment =
      parse_json_or_discard<nlohmann::json>(store.attempt_text(run.id, run.attempt, "environment"));
  if (!environment.is_object() || !environment.contains(kSeveralMachines)) return;
  throw Error(command + ": " + run.folder + " has trained with " +
                  environment[kSeveralMachines].get<std::string>() + " on several machines (" +
                  environment.value("command_line", "") + "); give `exprun " + command + ' ' +
                  run.folder +
                  "` to each of them, with the same launcher or --nnodes and the other options, or "
                  "say how many ranks this machine is to make: `exprun " +
                  command + ' ' + run.folder + " world_size=1`",
              ExitCode::bad_recipe);
}

}  // namespace exprun
