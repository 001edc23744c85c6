#include "control/launch/background.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/terminal/console.h"
#include "control/launch/process/child_process.h"
#include "control/launch/process/trainer_end.h"

namespace exprun {
namespace {

constexpr timespec kBetweenSignals{0, 50'000'000};
constexpr std::chrono::milliseconds kFirstMoments(500);

// What the child writes to who waits for it.
struct Begun {
  int64_t id = 0;       // of a run or a sweep
  int64_t attempt = 0;  // of the run
  off_t log_size = 0;   // before the child has said anything there
};

// What who waits for it makes of that.
struct Awaited {
  std::function<std::filesystem::path(const Begun&)> log;
  std::function<bool(const Begun&)> is_under_way;
  std::function<std::string(const Begun&, pid_t process)> how_to_reach;
};

struct Pipe {
  UniqueFd read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw file_error("make", "a pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Until the run has a folder: a run that cannot begin leaves nothing behind.
UniqueFd make_memory_file() {
  UniqueFd file(::memfd_create("exprun-log", MFD_CLOEXEC));
  if (!file) throw file_error("make", "a file in memory");
  return file;
}

// What there is after `offset`, which goes on to the end.
std::string text_behind(int fd, off_t& offset) {
  std::string text;
  std::array<char, 16384> buffer{};
  for (ssize_t size = 0; (size = ::pread(fd, buffer.data(), buffer.size(), offset)) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(size));
    offset += size;
  }
  return text;
}

void lead_output_to(int fd) {
  std::fflush(stdout);
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
  refresh_standard_error();
}

// In the child.
class LoggedOutput {
 public:
  LoggedOutput(int until_then, int news) : until_then_(until_then), news_(news) {
    lead_output_to(until_then);
  }

  // From here on to the log, which begins with what was said so far.
  void begin(const std::filesystem::path& file, Begun begun) {
    std::filesystem::create_directories(file.parent_path());
    const UniqueFd log(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!log) throw file_error("write", file);
    begun.log_size = ::lseek(log.get(), 0, SEEK_END);
    off_t copied = 0;
    const std::string said = is_first_ ? text_behind(until_then_, copied) : "";
    write_all(log.get(), said.data(), said.size(), file);
    lead_output_to(log.get());
    if (!is_first_) return;
    is_first_ = false;
    write_all(news_, &begun, sizeof begun, "a pipe");
  }

 private:
  int until_then_, news_;
  bool is_first_ = true;
};

// Does the work, to its exit code.
using Work = std::function<int(LoggedOutput& logged)>;

[[noreturn]] void live_in_background(int output, int news, const Work& work) {
  ::setsid();
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
  int code = 0;
  try {
    LoggedOutput logged(output, news);
    code = work(logged);
  } catch (const std::exception& error) {
    code = show_error(error);
  }
  std::fflush(stdout);
  ::_exit(code);
}

// In the parent: while it waits, signals that would end it are passed on.
class HeldSignals {
 public:
  HeldSignals() {
    ::sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&set_, number);
    ::pthread_sigmask(SIG_BLOCK, &set_, &former_);
  }
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  void release() const { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
  void pass_on(pid_t child) const {
    const int number = ::sigtimedwait(&set_, nullptr, &kBetweenSignals);
    if (number > 0) ::kill(child, number);
  }

 private:
  sigset_t set_{}, former_{};
};

// Its trainer has said that it lives, which it does when all is there to train. The end of an
// attempt counts as a sign of life too, so that one that has ended does not train.
bool trains(const StoreFolder& folder, const Begun& begun) {
  const Store store(folder.database(), Store::Access::read_only);
  const auto run = store.run(begun.id);
  for (const AttemptRow& attempt : store.attempts(begun.id))
    if (run && attempt.attempt == begun.attempt)
      return attempt.state == "running" && run->last_beat_ms > attempt.started_ms;
  return false;
}

std::string folder_of(const StoreFolder& folder, int64_t run) {
  return Store(folder.database(), Store::Access::read_only).run(run)->folder;
}

std::filesystem::path log_of_sweep(const StoreFolder& folder, int64_t sweep) {
  const Store store(folder.database(), Store::Access::read_only);
  return folder.path / "sweeps" / (store.sweep(sweep)->uid + ".log");
}

std::string in_background(const std::string& name, pid_t process) {
  return name + " runs in the background (process " + std::to_string(process) + ")";
}

Awaited awaited_run(const StoreFolder& folder) {
  return {[&](const Begun& begun) {
            return folder.run(folder_of(folder, begun.id)).log(begun.attempt, 0);
          },
          [&](const Begun& begun) { return trains(folder, begun); },
          [&](const Begun& begun, pid_t process) {
            const std::string name = folder_of(folder, begun.id);
            const std::string words = shell_quoted(name) + store_option(folder);
            return in_background(name, process) + "\n  exprun logs " + words +
                   " -f   follows what it says\n  exprun stop " + words + "   saves and ends it";
          }};
}

Awaited awaited_sweep(const StoreFolder& folder) {
  return {[&](const Begun& begun) { return log_of_sweep(folder, begun.id); },
          [](const Begun&) { return true; },
          [&](const Begun& begun, pid_t process) {
            const std::string words = std::to_string(begun.id) + store_option(folder);
            const auto log = log_of_sweep(folder, begun.id).lexically_relative(folder.path);
            return in_background("sweep " + std::to_string(begun.id), process) + ", its log is " +
                   (folder.shown / log).string() + "\n  exprun sweep show " + words +
                   "   shows its trials\n  exprun sweep stop " + words + "   saves and ends them";
          }};
}

int watch_start(const Awaited& awaited, pid_t child, int output, int news,
                const HeldSignals& signals) {
  std::optional<Begun> begun;
  std::optional<std::chrono::steady_clock::time_point> since;  // it is under way
  UniqueFd log;
  off_t shown = 0;
  const auto show = [&] {
    const std::string text = text_behind(log ? log.get() : output, shown);
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
  const bool is_quiet = !is_shown(LogLevel::info);  // then only why nothing has begun
  for (;;) {
    const std::optional<ChildEnd> end = take_end(child);
    Begun told;
    if (!begun && ::read(news, &told, sizeof told) == sizeof told) {
      begun = told;
      shown += told.log_size;  // the log goes on with what was in memory
      log = UniqueFd(::open(awaited.log(told).c_str(), O_RDONLY | O_CLOEXEC));
    }
    const bool has_failed = end && exit_status(*end) != 0;
    if (has_failed || (!is_quiet && (end || !since))) show();
    if (end) return exit_status(*end);
    // What fails in the first moments ends it soon.
    const auto now = std::chrono::steady_clock::now();
    if (!since && begun && awaited.is_under_way(*begun)) since = now;
    if (since && now - *since >= kFirstMoments) {
      log_info(awaited.how_to_reach(*begun, child));
      return 0;
    }
    signals.pass_on(child);
  }
}

int work_in_background(const Awaited& awaited, const Work& work) {
  const UniqueFd output = make_memory_file();
  const Pipe news = make_pipe();
  const HeldSignals signals;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw file_error("start", "a process in the background");
  if (child > 0) return watch_start(awaited, child, output.get(), news.read.get(), signals);
  signals.release();
  live_in_background(output.get(), news.write.get(), work);
}

}  // namespace

int launch_in_background(const StoreFolder& folder, const BackgroundLaunch& launch) {
  return work_in_background(awaited_run(folder), [&](LoggedOutput& logged) {
    return launch([&](const RunFolder& run, int64_t id, int64_t attempt) {
      logged.begin(run.log(attempt, 0), {id, attempt, 0});
    });
  });
}

int sweep_in_background(const StoreFolder& folder, const BackgroundSweep& sweep) {
  return work_in_background(awaited_sweep(folder), [&](LoggedOutput& logged) {
    return sweep([&](int64_t id) { logged.begin(log_of_sweep(folder, id), {id, 0, 0}); });
  });
}

}  // namespace exprun
