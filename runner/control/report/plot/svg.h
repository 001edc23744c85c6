// A picture as SVG, for a paper: light background, text as text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "control/report/plot/picture.h"

namespace exprun {

// Of so many pixels; the panels stand below each other.
std::string to_svg(std::span<const Panel> panels, size_t width, size_t height);

}  // namespace exprun
