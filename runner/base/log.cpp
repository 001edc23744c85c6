#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/process/signals.h"
#include "base/strings.h"
#include "base/terminal/console.h"
#include "base/terminal/terminal.h"
#include "base/utf8.h"

namespace exprun {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";
constexpr size_t kHangingIndent = 4;  // of the further lines of a message
constexpr size_t kEcho = 2;  // columns of the "^C" that a terminal writes behind a progress line

// "exprun: " for info, "exprun: warning: " with the word in color for the others.
class Prefix final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    append(out, "exprun: ");
    if (message.level == spdlog::level::info) return;
    message.color_range_start = out.size();
    append(out, spdlog::level::to_string_view(message.level));
    message.color_range_end = out.size();
    append(out, ": ");
  }

  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Prefix>();
  }

 private:
  static void append(spdlog::memory_buf_t& out, spdlog::string_view_t text) {
    out.append(text.data(), text.data() + text.size());
  }
};

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::unique_ptr<spdlog::logger> logger_to(std::shared_ptr<spdlog::sinks::sink> sink) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<Prefix>('*').set_pattern("%*%v");
  sink->set_formatter(std::move(formatter));
  auto logger = std::make_unique<spdlog::logger>("exprun", std::move(sink));
  logger->flush_on(spdlog::level::trace);
  return logger;
}

std::unique_ptr<spdlog::logger> screen_logger() {
  return logger_to(std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>(
      wants_color(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never));
}

bool is_standard_error(const std::string& file) {
  struct stat there {
  }, here{};
  return ::stat(file.c_str(), &there) == 0 && ::fstat(STDERR_FILENO, &here) == 0 &&
         there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

// Rows of the terminal that messages go to; one that does not know has 24.
size_t terminal_rows() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 ? 24 : size.ws_row;
}

// The cursor, so many lines up or down.
std::string moved(size_t lines, char direction) {
  return lines == 0 ? "" : "\x1b[" + std::to_string(lines) + direction;
}

// Messages and the progress line share standard error, so one object writes both.
class Console {
 public:
  static Console& instance() {
    static Console console;
    return console;
  }

  void set_level(LogLevel level) {
    const std::lock_guard lock(mutex_);
    logger_->set_level(level_of(level));
  }

  void message(LogLevel level, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (kept_) kept_->log(level_of(level), text);
    if (!logger_->should_log(level_of(level))) return;
    if (!progress_.empty() || is_echoed()) write(erased());
    logger_->log(level_of(level), terminal_ ? fitted(level, text) : text);
    write(joined(progress_, "\n"));
  }

  // As it is, between what else is shown.
  void block(const std::string& text) {
    const std::lock_guard lock(mutex_);
    write((progress_.empty() ? "" : erased()) + text + joined(progress_, "\n"));
  }

  void note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (kept_) kept_->info(text);
  }

  void refresh() {
    const std::lock_guard lock(mutex_);
    const auto level = logger_->level();
    terminal_ = ::isatty(STDERR_FILENO) == 1;
    logger_ = screen_logger();
    logger_->set_level(level);
  }

  void keep(const std::string& file) {
    if (is_standard_error(file)) {  // a log is complete, whatever a terminal would be spared
      const std::lock_guard lock(mutex_);
      logger_->set_level(std::min(logger_->level(), spdlog::level::info));
      return;
    }
    auto kept = logger_to(std::make_shared<spdlog::sinks::basic_file_sink_st>(file));
    kept->set_error_handler([](const std::string&) {});  // a full disk ends no run
    const std::lock_guard lock(mutex_);
    kept_ = std::move(kept);
  }

  void progress(std::vector<std::string> lines) {
    const std::lock_guard lock(mutex_);
    if (!shows_progress() || (lines.empty() && progress_.empty())) return;
    if (lines.size() >= terminal_rows()) lines.erase(lines.begin(), lines.end() - 1);
    for (std::string& line : lines) line = clipped(line, columns_of_progress());
    write(lines.size() == progress_.size() ? rewritten(lines) : erased() + joined(lines, "\n"));
    progress_ = std::move(lines);
  }

  ProgressRoom room() {
    const std::lock_guard lock(mutex_);
    if (!shows_progress()) return {};
    return {columns_of_progress(), wants_color(STDERR_FILENO)};
  }

  void erase_progress_of_killed() {
    const std::lock_guard lock(mutex_);
    if (shows_progress()) write(kEraseLine);
  }

  bool shows(LogLevel level) {
    const std::lock_guard lock(mutex_);
    return logger_->should_log(level_of(level));
  }

 private:
  bool shows_progress() const { return terminal_ && logger_->should_log(spdlog::level::info); }

  // Whether "^C" may stand where the next message begins.
  bool is_echoed() const { return terminal_ && stop_requested() == StopRequest::interrupt; }

  static size_t columns_of_progress() {
    return std::max(columns_of(STDERR_FILENO), kEcho + 1) - kEcho;
  }

  // After the head that Prefix writes.
  static std::string fitted(LogLevel level, const std::string& text) {
    const spdlog::string_view_t word = spdlog::level::to_string_view(level_of(level));
    const size_t head =
        std::string("exprun: ").size() + (level == LogLevel::info ? 0 : word.size() + 2);
    return wrapped_lines(without_controls(text), kHangingIndent, head, columns_of(STDERR_FILENO));
  }

  // The cursor stands in the last line.
  std::string erased() const {
    if (progress_.size() < 2) return kEraseLine;
    return "\r" + moved(progress_.size() - 1, 'A') + "\x1b[J";
  }

  std::string rewritten(const std::vector<std::string>& lines) const {
    std::string text;
    for (size_t i = 0; i < lines.size(); ++i) {
      const size_t up = lines.size() - 1 - i;
      if (lines[i] != progress_[i]) text += moved(up, 'A') + kEraseLine + lines[i] + moved(up, 'B');
    }
    return text;
  }

  static void write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }

  std::mutex mutex_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::unique_ptr<spdlog::logger> logger_ = screen_logger();
  std::unique_ptr<spdlog::logger> kept_;
  std::vector<std::string> progress_;
};

}  // namespace

void set_log_level(LogLevel level) {
  Console::instance().set_level(level);
}

void log(LogLevel level, const std::string& message) {
  Console::instance().message(level, message);
}

void keep_log(const std::string& file) try {
  Console::instance().keep(file);
} catch (const std::exception& error) {
  log_warning(std::string("log: ") + error.what());
}

void note_in_log(const std::string& message) {
  Console::instance().note(message);
}

void refresh_standard_error() {
  Console::instance().refresh();
}

void show_progress_line(const std::string& line) {
  Console::instance().progress(line.empty() ? std::vector<std::string>{} : std::vector{line});
}

void show_progress_lines(const std::vector<std::string>& lines) {
  Console::instance().progress(lines);
}

ProgressRoom progress_room() {
  return Console::instance().room();
}

void erase_progress_of_killed() {
  Console::instance().erase_progress_of_killed();
}

bool is_shown(LogLevel level) {
  return Console::instance().shows(level);
}

bool has_progress_line() {
  return progress_room().columns > 0;
}

void show_diagnostics(const Diagnostics& diagnostics) {
  if (diagnostics.empty()) return;
  Console::instance().block(
      render(diagnostics, {columns_of(STDERR_FILENO), wants_color(STDERR_FILENO)}));
}

int show_error(const std::exception& error) {
  const auto* const world = dynamic_cast<const Error*>(&error);
  if (const auto* const recipe = dynamic_cast<const RecipeError*>(&error)) {
    show_diagnostics(recipe->diagnostics());
    return static_cast<int>(ExitCode::bad_recipe);
  }
  if (world)
    log(LogLevel::error, world->what());
  else if (dynamic_cast<const std::bad_alloc*>(&error))
    log(LogLevel::error, "out of memory");
  else if (dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    log(LogLevel::error, error.what());
  else
    log(LogLevel::error, std::string("this is a bug of exprun, please report it: ") + error.what());
  return static_cast<int>(world ? world->code() : ExitCode::failed);
}

void write_error_file(const std::string& message) {
  namespace fs = std::filesystem;
  const char* const name = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (!name || !*name) return;
  try {
    if (fs::exists(name)) return;
    fs::create_directories(fs::path(name).parent_path());
    const nlohmann::json json{
        {"message",
         {{"message", "exprun: " + message},
          {"extraInfo",
           {{"py_callstack", message}, {"timestamp", std::to_string(now_ms() / 1000)}}}}}};
    write_file_atomically(name, json_text(json, -1, NotUtf8::replaced));
  } catch (const std::exception&) {
    // The message is on standard error too.
  }
}

}  // namespace exprun
