// Messages for people, on standard error: "exprun: message". Data goes to standard output.
// spdlog is behind it (log.cpp): LibTorch ships another fmt, so no header may show it.
#pragma once

#include <string>
#include <vector>

namespace exprun {

enum class LogLevel { debug, info, warning, error };

// Messages below `level` are dropped (-q: warning, default: info, -v: debug).
void set_log_level(LogLevel level);

void log(LogLevel level, const std::string& message);

// From now on messages are appended to the file too, those that are dropped elsewhere but for debug
// included. A file that cannot be written is a warning.
void keep_log(const std::string& file);

// The progress line: the last line of a terminal, rewritten in place; messages appear above it.
// Clipped to the terminal's width; empty removes it. Nothing is shown when standard error is no
// terminal or the level is above info: write plain messages there instead.
void show_progress_line(const std::string& line);

// The same with several lines, of which only those that changed are written again. Where they are
// more than the terminal has, the last one is shown.
void show_progress_lines(const std::vector<std::string>& lines);

// Whether show_progress_line shows anything.
bool has_progress_line();

inline void log_info(const std::string& message) {
  log(LogLevel::info, message);
}
inline void log_warning(const std::string& message) {
  log(LogLevel::warning, message);
}

// For torchrun, which looks there for why a worker failed.
// Writes the message to the file that TORCHELASTIC_ERROR_FILE names, in torchrun's format, unless
// there is no such name or something has been written before: the first error is the cause. Never
// throws.
void write_error_file(const std::string& message);

}  // namespace exprun
