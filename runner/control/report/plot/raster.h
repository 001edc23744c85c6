// An image that is drawn on without steps at its edges: a pixel that a line or a letter covers in
// part takes a part of its color.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "control/report/plot/drawing.h"

namespace exprun {

class Raster {
 public:
  Raster(size_t width, size_t height, Rgb paper);

  // Spots and widths are in pixels of the image; a pixel's middle lies at x.5. Joints are round.
  // Where the stroke crosses itself it is drawn once. Dashes are as many pixels long and apart as
  // `dash` and `gap` say; without them the line is whole. One point alone is a disc.
  void stroke(const std::vector<Spot>& points, Rgb color, double width, double dash = 0,
              double gap = 0);

  // Letters of that size (of the font's em, in pixels), with their base line at whole pixels.
  void text(Spot at, Anchor anchor, std::string_view text, Rgb color, double size, bool strong);

  size_t width() const { return width_; }
  size_t height() const { return height_; }
  const uint8_t* row(size_t y) const {
    return pixels_.data() + 3 * width_ * y;
  }  // red, green, blue
  Rgb at(size_t x, size_t y) const;

 private:
  void cover(Spot from, Spot to, double radius);
  void blend(size_t x, size_t y, Rgb color, unsigned covered);
  void take_covered(Rgb color);

  size_t width_, height_;
  std::vector<uint8_t> pixels_;
  // How much of each pixel the stroke covers that is being drawn, in parts of 255, and the lines
  // and columns that it has touched.
  std::vector<uint8_t> covered_;
  size_t top_, bottom_ = 0, left_, right_ = 0;
};

}  // namespace exprun
