#include "base/log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "base/files/file.h"
#include "base/process/signals.h"
#include "base/terminal/console.h"
#include "support/standard_error.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

// Says so where there is none: a container may lack /dev/pts.
bool has_terminals() {
  int ends[2];
  if (::openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) != 0) {
    std::puts("SKIPPED: this machine has no pseudo-terminals");
    return false;
  }
  ::close(ends[0]);
  ::close(ends[1]);
  return true;
}

// The same on a terminal of 20 columns.
std::string on_terminal(const std::function<void()>& body) {
  winsize size{24, 20, 0, 0};
  int terminal = -1;
  if (::forkpty(&terminal, nullptr, nullptr, &size) == 0) {
    ::setenv("TERM", "xterm", 1);
    body();
    ::_exit(0);
  }
  const std::string text = read_all(terminal);
  ::close(terminal);
  ::wait(nullptr);
  return text;
}

void talk() {
  log(LogLevel::debug, "d");
  log_info("i");
  log_warning("w {}");
  log(LogLevel::error, "e");
}

}  // namespace

TEST_CASE("log: plain words where there is no terminal") {
  CHECK(through_pipe(talk) == "exprun: i\nexprun: warning: w {}\nexprun: error: e\n");
}

TEST_CASE("log: levels drop what is below them") {
  CHECK(through_pipe([] {
          set_log_level(LogLevel::warning);
          talk();
        }) == "exprun: warning: w {}\nexprun: error: e\n");
  CHECK(through_pipe([] {
          set_log_level(LogLevel::debug);
          log(LogLevel::debug, "d");
        }) == "exprun: debug: d\n");
}

TEST_CASE("log: a file keeps what is dropped elsewhere") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "logs/rank.log";
  for (int begun = 0; begun < 2; ++begun)
    CHECK(through_pipe([&] {
            set_log_level(LogLevel::warning);
            keep_log(file.string());
            talk();
          }) == "exprun: warning: w {}\nexprun: error: e\n");
  const std::string once = "exprun: i\nexprun: warning: w {}\nexprun: error: e\n";
  CHECK(read_file(file) == once + once);
  CHECK(through_pipe([&] {
          keep_log(folder.path().string());
          log_info("i");
        }).ends_with("\nexprun: i\n"));
}

TEST_CASE("log: colours on a terminal, unless NO_COLOR is set") {
  if (!has_terminals()) return;
  ::unsetenv("NO_COLOR");
  const std::string text = on_terminal([] { log_warning("w"); });
  CHECK(text.find("exprun: \x1b[") == 0);
  CHECK(on_terminal([] {
          ::setenv("NO_COLOR", "1", 1);
          log_warning("w");
        }) == "exprun: warning: w\r\n");
}

TEST_CASE("log: a message appears above the progress line, which is clipped to the terminal") {
  if (!has_terminals()) return;
  CHECK(on_terminal([] {
          show_progress_line("step 1 of 300, loss 4.1649");
          log_info("saved");
          show_progress_line("");
        }) == "\r\x1b[Kstep 1 of 300, los\r\x1b[Kexprun: saved\r\nstep 1 of 300, los\r\x1b[K");
}

TEST_CASE("log: what a terminal echoes of Ctrl-C, or a killed process left, is erased") {
  if (!has_terminals()) return;
  CHECK(on_terminal([] {
          request_stop(StopRequest::interrupt);
          log_info("interrupted");
        }) == "\r\x1b[Kexprun: interrupted\r\n");
  CHECK(on_terminal([] {
          erase_progress_of_killed();
          log_info("killed");
        }) == "\r\x1b[Kexprun: killed\r\n");
  CHECK(through_pipe([] {
          request_stop(StopRequest::interrupt);
          erase_progress_of_killed();
          log_info("interrupted");
        }) == "exprun: interrupted\n");
}

TEST_CASE("log: of several progress lines only those that changed are written again") {
  if (!has_terminals()) return;
  CHECK(on_terminal([] {
          show_progress_lines({"a 1", "b 1", "all"});
          show_progress_lines({"a 1", "b 2", "all"});
          show_progress_lines({"a 1", "b 2", "all"});
          log_info("saved");
          show_progress_lines({"b 3", "all"});
          show_progress_lines({});
        }) ==
        "\r\x1b[Ka 1\r\nb 1\r\nall"
        "\x1b[1A\r\x1b[Kb 2\x1b[1B"
        "\r\x1b[2A\x1b[Jexprun: saved\r\na 1\r\nb 2\r\nall"
        "\r\x1b[2A\x1b[Jb 3\r\nall"
        "\r\x1b[1A\x1b[J");
  CHECK(on_terminal([] { show_progress_lines(std::vector<std::string>(24, "last")); }) ==
        "\r\x1b[Klast");
}

TEST_CASE("log: no progress line without a terminal, and none with -q") {
  CHECK(through_pipe([] {
          show_progress_line("step 1");
          log_info(has_progress_line() ? "yes" : "no");
        }) == "exprun: no\n");
  CHECK(on_terminal([] {
          set_log_level(LogLevel::warning);
          show_progress_line("step 1");
        }).empty());
}
