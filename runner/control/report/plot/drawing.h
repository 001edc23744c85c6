// Where the parts of a picture lie on a page of pixels, and in which colors: what SVG and PNG
// share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "control/report/plot/picture.h"

namespace exprun {

struct Rgb {
  uint8_t red = 0, green = 0, blue = 0;
};

// Okabe and Ito's (2008), which people with any sight tell apart; without their yellow, which is
// faint on white. Curves begin with the first. Behind them, for more curves, six of Paul Tol's
// "muted" (2021) and a gray.
inline constexpr std::array<Rgb, 14> kPalette = {{{0, 114, 178},
                                                  {213, 94, 0},
                                                  {0, 158, 115},
                                                  {204, 121, 167},
                                                  {230, 159, 0},
                                                  {86, 180, 233},
                                                  {0, 0, 0},
                                                  {136, 34, 85},
                                                  {153, 153, 51},
                                                  {51, 34, 136},
                                                  {17, 119, 51},
                                                  {204, 102, 119},
                                                  {68, 170, 153},
                                                  {136, 136, 136}}};
inline constexpr Rgb kInk = {34, 34, 34}, kGrid = {221, 221, 221}, kPaper = {255, 255, 255};

struct Spot {
  double x = 0, y = 0;  // pixels, from the upper left
};

enum class Anchor { start, middle, end };

struct Text {
  Spot at;  // the base line
  Anchor anchor = Anchor::start;
  std::string text;
  bool strong = false;
};

struct Stroke {
  std::vector<Spot> points;  // one: a dot
  Rgb color;
  double width = 1;
  bool dashed = false;
};

// In the order in which they are drawn.
struct Drawing {
  size_t width = 0, height = 0;
  std::vector<Stroke> strokes;
  std::vector<Text> texts;
};

// What SVG and PNG draw alike, in pixels.
inline constexpr double kFontSize = 12, kDotWidth = 6, kDashLength = 6, kDashGap = 4;

// Pixels that a letter is high, from the base line up, and about as much as it is wide.
inline constexpr double kLetterHeight = 9, kLetterWidth = 6.5;

// The panels below each other; each has its legend below its axis.
Drawing drawing_of(std::span<const Panel> panels, size_t width, size_t height);

}  // namespace exprun
