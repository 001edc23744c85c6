#include "base/terminal/full_screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/terminal/terminal.h"

namespace exprun {
namespace {

// Another page of the terminal, no cursor, lines that are clipped and not broken; and back.
constexpr std::string_view kTake = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kGiveBack = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
constexpr char kCtrlC = 3;

volatile sig_atomic_t asked_to_quit = 0, was_resized = 0;

void on_signal(int signal) {
  if (signal == SIGWINCH)
    was_resized = 1;
  else
    asked_to_quit = 1;
}

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Signals are blocked but while one is waited for, so that none comes between a look at the flags
// and the waiting.
class Signals {
 public:
  Signals() {
    asked_to_quit = 0;
    was_resized = 0;
    sigset_t ours;
    ::sigemptyset(&ours);
    for (const int signal : kSignals) ::sigaddset(&ours, signal);
    ::pthread_sigmask(SIG_BLOCK, &ours, &before_);
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (size_t i = 0; i < std::size(kSignals); ++i)
      ::sigaction(kSignals[i], &action, &actions_[i]);
  }
  ~Signals() {
    for (size_t i = 0; i < std::size(kSignals); ++i)
      ::sigaction(kSignals[i], &actions_[i], nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  const sigset_t* mask_of_waiting() const { return &before_; }

 private:
  sigset_t before_{};
  struct sigaction actions_[std::size(kSignals)]{};
};

// Keys come one by one and are not shown; Ctrl-Z would leave the shell with our page.
class Keys {
 public:
  Keys() {
    termios now{};
    if (::tcgetattr(STDIN_FILENO, &now) != 0) return;
    before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  ~Keys() {
    if (before_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  bool are_typed() const { return before_.has_value(); }

 private:
  std::optional<termios> before_;
};

}  // namespace

struct FullScreen::Impl {
  Signals signals;
  Keys keys;
  std::vector<std::string> shown;
  bool is_gone = false;
};

bool FullScreen::is_possible() {
  const char* const terminal = std::getenv("TERM");
  return terminal && *terminal && std::string_view(terminal) != "dumb" && ::isatty(STDOUT_FILENO);
}

FullScreen::FullScreen() : impl_(std::make_unique<Impl>()) {
  impl_->is_gone = !write_all(kTake);
}

FullScreen::~FullScreen() {
  write_all(kGiveBack);
}

FullScreen::Size FullScreen::size() const {
  winsize size{};
  const bool knows = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
  return knows ? Size{size.ws_col, size.ws_row} : Size{};
}

void FullScreen::show(const std::vector<std::string>& lines) {
  const Size room = size();
  std::string codes;
  impl_->shown.resize(room.lines);
  for (size_t i = 0; i < room.lines; ++i) {
    const std::string line = i < lines.size() ? clipped(lines[i], room.columns) : "";
    if (line == impl_->shown[i]) continue;
    codes += "\x1b[" + std::to_string(i + 1) + ";1H\x1b[2K" + line + "\x1b[0m";
    impl_->shown[i] = line;
  }
  if (!write_all(codes)) impl_->is_gone = true;
}

FullScreen::Event FullScreen::wait(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  for (;;) {
    if (asked_to_quit || impl_->is_gone) return Event::quit;
    if (was_resized) {
      was_resized = 0;
      impl_->shown.clear();
      impl_->is_gone = !write_all("\x1b[2J");
      return Event::resized;
    }
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= left.zero()) return Event::none;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec timeout{
        seconds.count(),
        std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count()};
    pollfd input{impl_->keys.are_typed() ? STDIN_FILENO : -1, POLLIN, 0};
    if (::ppoll(&input, 1, &timeout, impl_->signals.mask_of_waiting()) <= 0) continue;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q' || key == kCtrlC)
      return Event::quit;
  }
}

}  // namespace exprun
