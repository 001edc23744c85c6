// More about the messages of base/log.h, for those who show progress or mistakes: what fits on a
// terminal, and the log that is kept beside it.
#pragma once

#include <cstddef>
#include <exception>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"

namespace exprun {

// Whether messages of this level are shown.
bool is_shown(LogLevel level);

// Mistakes of a recipe on standard error, as `render` writes them: on a terminal in color, and no
// wider than it is.
void show_diagnostics(const Diagnostics& diagnostics);

// The error that ends a command, on standard error; returns the exit code. What is neither an Error
// nor the system's is called a bug.
int show_error(const std::exception& error);

// How they are written: broken between words where that is wider than so many columns (0: never),
// and in a terminal's colors.
struct Rendering {
  size_t columns = 0;
  bool color = false;
};
std::string render(const Diagnostic& diagnostic, const Rendering& rendering);
std::string render(const Diagnostics& diagnostics, const Rendering& rendering);

// What fits into the progress line: no columns where show_progress_line shows nothing.
struct ProgressRoom {
  size_t columns = 0;
  bool color = false;
};
ProgressRoom progress_room();

// Of a process that shared the terminal and was killed: what may be left of its progress line.
void erase_progress_of_killed();

// Only to the file of keep_log.
void note_in_log(const std::string& message);

// To be called when standard error leads elsewhere: looks anew whether it is a terminal.
void refresh_standard_error();

}  // namespace exprun
