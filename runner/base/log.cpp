#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/utf8.h"

namespace exprun {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";

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

bool is_color_refused() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color && *no_color;
}

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
      is_color_refused() ? spdlog::color_mode::never : spdlog::color_mode::automatic));
}

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string clipped(std::string_view line, int columns) {
  std::string shown;
  for (const CodePoint& c : code_points(line)) {
    columns -= display_width(c.value);
    if (columns < 0) break;
    shown += c.bytes;
  }
  return shown;
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
    write(progress_.empty() ? "" : kEraseLine);
    logger_->log(level_of(level), terminal_ ? without_controls(text) : text);
    write(progress_);
  }

  void keep(const std::string& file) {
    auto kept = logger_to(std::make_shared<spdlog::sinks::basic_file_sink_st>(file));
    const std::lock_guard lock(mutex_);
    kept_ = std::move(kept);
  }

  void progress(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (!shows_progress() || (line.empty() && progress_.empty())) return;
    progress_ = clipped(line, terminal_columns() - 1);
    write(kEraseLine + progress_);
  }

  bool has_progress() {
    const std::lock_guard lock(mutex_);
    return shows_progress();
  }

 private:
  bool shows_progress() const { return terminal_ && logger_->should_log(spdlog::level::info); }

  static void write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }

  std::mutex mutex_;
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::unique_ptr<spdlog::logger> logger_ = screen_logger();
  std::unique_ptr<spdlog::logger> kept_;
  std::string progress_;
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

void show_progress_line(const std::string& line) {
  Console::instance().progress(line);
}

bool has_progress_line() {
  return Console::instance().has_progress();
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
