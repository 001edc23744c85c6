// A picture in characters: curves of braille dots, axes with numbers, a legend.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "control/report/plot/picture.h"

namespace exprun {

struct TerminalPlotOptions {
  size_t width = 80;    // characters of a line
  size_t height = 16;   // lines of curves in each panel; axis, title and legend come on top
  bool colors = false;  // without them letters tell the curves of a panel apart
};

// As wide as the terminal at standard output, in its colors; 80 characters where it is none.
TerminalPlotOptions fitted_to_terminal();

// What is below it becomes it.
inline constexpr size_t kLeastPlotWidth = 30, kLeastPlotHeight = 3;

// The lines of a panel, without line ends and without spaces at their ends.
std::vector<std::string> plot_lines(const Panel& panel, const TerminalPlotOptions& options);

}  // namespace exprun
