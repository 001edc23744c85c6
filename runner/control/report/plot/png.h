// A picture as PNG, for a slide or a paper that takes no SVG: the same drawing, in pixels.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "control/report/plot/picture.h"

namespace exprun {

class Raster;

// The drawing of to_svg with that width and height, in an image of `scale` times as many pixels in
// each direction. A program that goes by its resolution shows it as large as the SVG. The panels
// stand below each other.
std::string to_png(std::span<const Panel> panels, size_t width, size_t height, size_t scale);

// Whether its font has every character of the drawing; others are boxes.
bool png_has_all_characters(std::span<const Panel> panels, size_t width, size_t height);

// The file of an image (ISO/IEC 15948), 8 bits of red, green and blue; `per_meter`: pixels.
std::string png_file(const Raster& image, uint32_t per_meter);

}  // namespace exprun
