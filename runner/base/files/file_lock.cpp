#include "base/files/file_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "base/diagnostic.h"
#include "base/files/file.h"

#ifndef sigev_notify_thread_id  // older C libraries have no name for it
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace exprun {

struct flock byte_range(off_t byte, int type) {
  struct flock range = {};
  range.l_type = static_cast<short>(type);
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return range;
}

namespace {

// A signal that comes just before the call would not interrupt it: so it comes again.
constexpr std::chrono::milliseconds kAgain{10};

timespec timespec_of(std::chrono::milliseconds duration) {
  return {duration.count() / 1000, duration.count() % 1000 * 1'000'000};
}

// Real-time signals are left to programs; this one does nothing but interrupt (no SA_RESTART).
int interrupting_signal() {
  static const int signal = [] {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGRTMAX - 1, &action, nullptr);
    return SIGRTMAX - 1;
  }();
  return signal;
}

void let_through(int signal) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

// A time limit for system calls that have none of their own, as a wait for a file lock: once it is
// over, they fail with EINTR in the thread that made the limit.
class SyscallTimeout {
 public:
  // From now. Throws Error when the system has no timer left.
  explicit SyscallTimeout(std::chrono::milliseconds patience)
      : end_(std::chrono::steady_clock::now() + patience) {
    let_through(interrupting_signal());
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = interrupting_signal();
    event.sigev_notify_thread_id = ::gettid();
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
      throw Error(std::string("timer: cannot limit a wait: ") + std::strerror(errno));
    const itimerspec when{timespec_of(kAgain), timespec_of(patience)};
    ::timer_settime(timer_, 0, &when, nullptr);
  }
  ~SyscallTimeout() { ::timer_delete(timer_); }
  SyscallTimeout(const SyscallTimeout&) = delete;
  SyscallTimeout& operator=(const SyscallTimeout&) = delete;

  // Other signals interrupt calls too.
  bool is_over() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
  timer_t timer_{};
};

constexpr off_t kLock = 0, kGate = 1;
constexpr std::chrono::milliseconds kLong{500};

UniqueFd open_lock_file(const std::filesystem::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) throw file_error("open the lock file", file);
  return fd;
}

// False when another holds the lock (F_OFD_SETLK) or a signal ended the wait for it (F_OFD_SETLKW).
bool lock(const UniqueFd& fd, int command, const std::filesystem::path& file,
          const struct flock& wanted = byte_range(kLock, F_WRLCK)) {
  struct flock range = wanted;
  if (::fcntl(fd.get(), command, &range) == 0) return true;
  if (errno != EAGAIN && errno != EACCES && errno != EINTR) throw file_error("lock", file);
  return false;
}

// Whether another has a lock that is in the way of this one.
bool is_taken(const UniqueFd& fd, struct flock range, const std::filesystem::path& file) {
  if (::fcntl(fd.get(), F_OFD_GETLK, &range) != 0) throw file_error("ask for the lock of", file);
  return range.l_type != F_UNLCK;
}

bool wait_for(const UniqueFd& fd, const SyscallTimeout& timeout, const std::filesystem::path& file,
              const struct flock& range) {
  while (!timeout.is_over())
    if (lock(fd, F_OFD_SETLKW, file, range)) return true;
  return false;
}

void pass_gate(const UniqueFd& fd, const SyscallTimeout& timeout,
               const std::filesystem::path& file) {
  const auto closing = byte_range(kGate, F_WRLCK);
  if (!is_taken(fd, closing, file)) return;
  if (wait_for(fd, timeout, file, closing)) lock(fd, F_OFD_SETLK, file, byte_range(kGate, F_UNLCK));
}

// Half the time at most is spent before the gate: who closed it may be stopped.
bool wait_behind_gate(const UniqueFd& fd, std::chrono::milliseconds patience,
                      const std::filesystem::path& file) {
  const SyscallTimeout timeout(patience);
  pass_gate(fd, SyscallTimeout(patience / 2), file);
  return lock(fd, F_OFD_SETLK, file) || wait_for(fd, timeout, file, byte_range(kLock, F_WRLCK));
}

// The gate is asked for once: whoever passes it just now may be stopped too.
bool wait_with_gate_closed(const UniqueFd& fd, std::chrono::milliseconds patience,
                           const std::filesystem::path& file) {
  const SyscallTimeout timeout(patience);
  lock(fd, F_OFD_SETLK, file, byte_range(kGate, F_RDLCK));
  const bool locked = wait_for(fd, timeout, file, byte_range(kLock, F_WRLCK));
  lock(fd, F_OFD_SETLK, file, byte_range(kGate, F_UNLCK));
  return locked;
}

bool wait(const UniqueFd& fd, std::chrono::milliseconds patience,
          const std::filesystem::path& file) {
  if (wait_behind_gate(fd, std::min(patience, kLong), file)) return true;
  return patience > kLong && wait_with_gate_closed(fd, patience - kLong, file);
}

}  // namespace

std::optional<FileLock> FileLock::try_take(const std::filesystem::path& file) {
  UniqueFd fd = open_lock_file(file);
  if (!lock(fd, F_OFD_SETLK, file)) return std::nullopt;
  return FileLock(std::move(fd));
}

std::optional<FileLock> FileLock::try_share(const std::filesystem::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno != ENOENT && errno != ENOTDIR) throw file_error("open", file);
  if (!fd || !lock(fd, F_OFD_SETLK, file, byte_range(kLock, F_RDLCK))) return std::nullopt;
  return FileLock(std::move(fd));
}

FileLock FileLock::take(const std::filesystem::path& file) {
  UniqueFd fd = open_lock_file(file);
  while (!lock(fd, F_OFD_SETLKW, file)) continue;
  return FileLock(std::move(fd));
}

std::optional<FileLock> FileLock::take_within(const std::filesystem::path& file,
                                              std::chrono::milliseconds patience) {
  UniqueFd fd = open_lock_file(file);
  const bool is_open = !is_taken(fd, byte_range(kGate, F_WRLCK), file);
  const bool locked = (is_open && lock(fd, F_OFD_SETLK, file)) || wait(fd, patience, file);
  return locked ? std::optional(FileLock(std::move(fd))) : std::nullopt;
}

bool FileLock::held(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw file_error("open the lock file", file);
  }
  return is_taken(fd, byte_range(kLock, F_WRLCK), file);
}

bool FileLock::is_of(const std::filesystem::path& file) const {
  struct stat ours {
  }, named{};
  return ::fstat(fd(), &ours) == 0 && ::stat(file.c_str(), &named) == 0 &&
         ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

std::optional<TransientLock> TransientLock::try_take(const std::filesystem::path& file) {
  while (auto lock = FileLock::try_take(file))
    if (lock->is_of(file)) return TransientLock(file, std::move(*lock));
  return std::nullopt;
}

TransientLock TransientLock::take(const std::filesystem::path& file) {
  for (;;)
    if (FileLock lock = FileLock::take(file); lock.is_of(file)) return {file, std::move(lock)};
}

TransientLock::~TransientLock() {
  if (lock_.fd() >= 0) ::unlink(file_.c_str());
}

}  // namespace exprun
