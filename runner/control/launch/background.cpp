#include "control/launch/background.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/terminal/console.h"
#include "control/launch/process/child_process.h"
#include "control/launch/supervise.h"

namespace exprun {
namespace {

constexpr timespec kBetweenSignals{0, 50'000'000};

// What the child writes to who waits for it.
struct Begun {
  int64_t run = 0, attempt = 0;
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

// What there is behind `offset`, which goes on to the end.
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
  look_at_standard_error_again();
}

// In the child.
class LoggedOutput {
 public:
  LoggedOutput(int until_then, int news) : until_then_(until_then), news_(news) {
    lead_output_to(until_then);
  }

  // From here on to the attempt's log, which begins with what was said so far.
  void begin(const RunFolder& folder, Begun begun) {
    const std::filesystem::path file = folder.log(begun.attempt, 0);
    std::filesystem::create_directories(folder.logs());
    const UniqueFd log(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!log) throw file_error("write", file);
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

[[noreturn]] void live_in_background(int output, int news, const BackgroundLaunch& launch) {
  ::setsid();
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
  int code = 0;
  try {
    LoggedOutput logged(output, news);
    code = launch([&](const RunFolder& folder, int64_t run, int64_t attempt) {
      logged.begin(folder, {run, attempt});
    });
  } catch (const std::exception& error) {
    code = explain(error);
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
  const auto run = store.run(begun.run);
  for (const AttemptRow& attempt : store.attempts(begun.run))
    if (run && attempt.attempt == begun.attempt)
      return attempt.state == "running" && run->last_beat_ms > attempt.started_ms;
  return false;
}

void say_how_to_reach(const StoreFolder& folder, const RunRow& run) {
  const std::string words = shell_quoted(run.folder) + store_option(folder);
  log_info(run.folder + " runs in the background (process " + std::to_string(run.pid) +
           ")\n  exprun logs " + words + " -f   follows what it says\n  exprun stop " + words +
           "   saves and ends it");
}

int watch_start(const StoreFolder& folder, pid_t child, int output, int news,
                const HeldSignals& signals) {
  std::optional<Begun> begun;
  UniqueFd log;
  off_t shown = 0;
  const auto show = [&] {
    const std::string text = text_behind(log ? log.get() : output, shown);
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
  for (;;) {
    const std::optional<ChildEnd> end = take_end(child);
    Begun told;
    if (!begun && ::read(news, &told, sizeof told) == sizeof told) {
      begun = told;
      const Store store(folder.database(), Store::Access::read_only);
      const RunFolder run = folder.run(store.run(told.run)->folder);
      log = UniqueFd(::open(run.log(told.attempt, 0).c_str(), O_RDONLY | O_CLOEXEC));
    }
    show();
    if (end) return exit_status(*end);
    if (begun && trains(folder, *begun)) {
      const Store store(folder.database(), Store::Access::read_only);
      say_how_to_reach(folder, *store.run(begun->run));
      return 0;
    }
    signals.pass_on(child);
  }
}

}  // namespace

int launch_in_background(const StoreFolder& folder, const BackgroundLaunch& launch) {
  const UniqueFd output = make_memory_file();
  const Pipe news = make_pipe();
  const HeldSignals signals;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw file_error("start", "a process in the background");
  if (child > 0) return watch_start(folder, child, output.get(), news.read.get(), signals);
  signals.release();
  live_in_background(output.get(), news.write.get(), launch);
}

}  // namespace exprun
