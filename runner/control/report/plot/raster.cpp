#include "control/report/plot/raster.h"

#include <algorithm>
#include <cmath>

#include "control/report/plot/typeface.h"

namespace exprun {
namespace {

constexpr uint8_t kWhole = 255;
constexpr double kEdge = 0.5;  // half a pixel: what is so far inside an edge is covered whole

double distance(Spot from, Spot to) {
  const double x = to.x - from.x, y = to.y - from.y;
  return std::sqrt(x * x + y * y);
}

// Of a spot to the nearest of the line between two others.
double distance_to_line(Spot spot, Spot from, Spot to) {
  const double x = to.x - from.x, y = to.y - from.y, square = x * x + y * y;
  const double along =
      square > 0 ? std::clamp(((spot.x - from.x) * x + (spot.y - from.y) * y) / square, 0.0, 1.0)
                 : 0;
  return distance(spot, {from.x + along * x, from.y + along * y});
}

// The pieces of a line that dashes leave of it. Their ends are shorter by `radius`, which the round
// ends of a stroke add again.
std::vector<std::vector<Spot>> dashes(const std::vector<Spot>& points, double dash, double gap,
                                      double radius) {
  std::vector<std::vector<Spot>> pieces;
  const double drawn = std::max(dash - 2 * radius, 0.0), left_out = dash + gap - drawn;
  bool is_drawn = true;
  double left = drawn;  // of this dash, or of the gap
  pieces.push_back({points.front()});
  for (size_t i = 1; i < points.size(); ++i) {
    Spot from = points[i - 1];
    const Spot to = points[i];
    for (double length = distance(from, to); length > left; length = distance(from, to)) {
      const double part = left / length;
      from = {from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)};
      if (is_drawn)
        pieces.back().push_back(from);
      else
        pieces.push_back({from});
      is_drawn = !is_drawn;
      left = is_drawn ? drawn : left_out;
    }
    left -= distance(from, to);
    if (is_drawn) pieces.back().push_back(to);
  }
  return pieces;
}

// Pixels of a line or column that lie between two places, at least in part.
struct Stretch {
  size_t begin, end;
};
Stretch stretch_of(double low, double high, size_t pixels) {
  const auto inside = [&](double at) {
    return static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(pixels)));
  };
  return {inside(std::floor(low)), inside(std::ceil(high))};
}

}  // namespace

Raster::Raster(size_t width, size_t height, Rgb paper)
    : width_(width),
      height_(height),
      pixels_(3 * width * height),
      covered_(width * height),
      top_(height),
      left_(width) {
  for (size_t i = 0; i < pixels_.size(); i += 3) {
    pixels_[i] = paper.red;
    pixels_[i + 1] = paper.green;
    pixels_[i + 2] = paper.blue;
  }
}

Rgb Raster::at(size_t x, size_t y) const {
  const uint8_t* const pixel = row(y) + 3 * x;
  return {pixel[0], pixel[1], pixel[2]};
}

void Raster::blend(size_t x, size_t y, Rgb color, unsigned covered) {
  uint8_t* const pixel = pixels_.data() + 3 * (y * width_ + x);
  const auto mixed = [&](uint8_t below, uint8_t above) {
    return static_cast<uint8_t>((below * (255 - covered) + above * covered + 127) / 255);
  };
  pixel[0] = mixed(pixel[0], color.red);
  pixel[1] = mixed(pixel[1], color.green);
  pixel[2] = mixed(pixel[2], color.blue);
}

void Raster::stroke(const std::vector<Spot>& points, Rgb color, double width, double dash,
                    double gap) {
  if (points.empty()) return;
  const double radius = width / 2;
  const auto draw = [&](const std::vector<Spot>& piece) {
    if (piece.size() == 1) cover(piece.front(), piece.front(), radius);
    for (size_t i = 1; i < piece.size(); ++i) cover(piece[i - 1], piece[i], radius);
  };
  if (dash > 0 && points.size() > 1)
    for (const auto& piece : dashes(points, dash, gap, radius)) draw(piece);
  else
    draw(points);
  take_covered(color);
}

// Only pixels near the line are looked at, so that a long one costs as much as it is long.
void Raster::cover(Spot from, Spot to, double radius) {
  const double reach = radius + kEdge;
  const double low_x = std::min(from.x, to.x), high_x = std::max(from.x, to.x);
  const double up = to.y - from.y;
  const double slope = up == 0 ? 0 : (to.x - from.x) / up;
  const double half = up == 0 ? HUGE_VAL : reach * std::hypot(1, slope) + std::abs(slope);
  const Stretch rows =
      stretch_of(std::min(from.y, to.y) - reach, std::max(from.y, to.y) + reach, height_);
  for (size_t y = rows.begin; y < rows.end; ++y) {
    const double middle_y = static_cast<double>(y) + 0.5;
    const double middle_x = from.x + (middle_y - from.y) * slope;
    const Stretch columns = up == 0 ? stretch_of(low_x - reach, high_x + reach, width_)
                                    : stretch_of(std::max(low_x - reach, middle_x - half),
                                                 std::min(high_x + reach, middle_x + half), width_);
    if (columns.begin >= columns.end) continue;
    for (size_t x = columns.begin; x < columns.end; ++x) {
      uint8_t& known = covered_[y * width_ + x];
      if (known == kWhole) continue;  // as most of a dense curve is, soon
      const double away = distance_to_line({static_cast<double>(x) + 0.5, middle_y}, from, to);
      const double covered = std::clamp(reach - away, 0.0, std::min(1.0, 2 * radius));
      known = std::max(known, static_cast<uint8_t>(std::lround(covered * kWhole)));
    }
    top_ = std::min(top_, y);
    bottom_ = std::max(bottom_, y + 1);
    left_ = std::min(left_, columns.begin);
    right_ = std::max(right_, columns.end);
  }
}

void Raster::take_covered(Rgb color) {
  for (size_t y = top_; y < bottom_; ++y)
    for (size_t x = left_; x < right_; ++x) {
      uint8_t& covered = covered_[y * width_ + x];
      if (covered) blend(x, y, color, covered);
      covered = 0;
    }
  top_ = height_;
  left_ = width_;
  bottom_ = right_ = 0;
}

void Raster::text(Spot at, Anchor anchor, std::string_view text, Rgb color, double size,
                  bool strong) {
  const Typeface& face = typeface(strong);
  double x = at.x;
  if (anchor != Anchor::start) x -= face.width(text, size) * (anchor == Anchor::end ? 1 : 0.5);
  face.each_letter(text, {x, std::round(at.y)}, size, [&](const LetterImage& letter) {
    for (int line = 0; line < letter.height; ++line)
      for (int column = 0; column < letter.width; ++column) {
        const int pixel_x = letter.left + column, pixel_y = letter.top + line;
        const bool inside = pixel_x >= 0 && pixel_y >= 0 && pixel_x < static_cast<int>(width_) &&
                            pixel_y < static_cast<int>(height_);
        const uint8_t covered = letter.covered[line * letter.width + column];
        if (inside && covered)
          blend(static_cast<size_t>(pixel_x), static_cast<size_t>(pixel_y), color, covered);
      }
  });
}

}  // namespace exprun
