#include "control/report/plot/drawing.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace exprun {
namespace {

const Rgb& color_of(const PlotCurve& curve) {
  return kPalette[curve.color % kPalette.size()];
}

constexpr double kGap = 8, kLine = 18;  // pixels between parts, and from text to text
constexpr double kTickEvery = 90, kTickEveryHigh = 45;
constexpr double kCurveWidth = 1.6, kSign = 24;  // of the legend
constexpr double kLeastPlot = 40;
constexpr double kInset = 4;  // between the axis and the lowest value, and above the highest

double width_of(const std::string& text) {
  return kLetterWidth * static_cast<double>(display_width(text));
}

struct Box {
  double left, top, right, bottom;

  Spot at(const PlotSample& part) const {
    return {left + part.x * (right - left), bottom - kInset - part.y * (bottom - top - 2 * kInset)};
  }
};

size_t ticks_in(double length, double every) {
  return static_cast<size_t>(std::max(2.0, length / every));
}

// How far the number of the last tick would reach over the right edge of the page.
double overhang(const std::vector<Tick>& ticks, const Box& box) {
  double most = 0;
  for (const Tick& tick : ticks)
    most = std::max(most, box.at({tick.at, 0}).x + width_of(tick.text) / 2 - box.right - kGap);
  return most;
}

class PageWriter {
 public:
  PageWriter(size_t width, size_t height) { drawing_ = {width, height, {}, {}}; }

  void add(const Panel& panel, double top, double bottom) {
    const double legend = kLine * static_cast<double>(panel.curves.size());
    Box box{0, top + kLine + kGap, double(drawing_.width) - 2 * kGap,
            std::max(bottom - legend - 2 * kLine - kGap, top + kLine + kGap + kLeastPlot)};
    const auto labels = ticks(panel.y, ticks_in(box.bottom - box.top, kTickEveryHigh));
    double widest = 0;
    for (const Tick& tick : labels) widest = std::max(widest, width_of(tick.text));
    box.left = widest + 3 * kGap;
    box.right -= overhang(ticks(panel.x, ticks_in(box.right - box.left, kTickEvery)), box);
    drawing_.texts.push_back({{box.left, top + kLine}, Anchor::start, heading(panel, false), true});
    for (const Tick& tick : labels) add_y_tick(box, tick);
    for (const Tick& tick : ticks(panel.x, ticks_in(box.right - box.left, kTickEvery)))
      add_x_tick(box, tick);
    add_line({{box.left, box.top}, {box.left, box.bottom}, {box.right, box.bottom}}, kInk);
    drawing_.texts.push_back({{(box.left + box.right) / 2, box.bottom + 2 * kLine},
                              Anchor::middle,
                              panel.x.title,
                              false});
    add_curves(panel, box);
    double y = box.bottom + 3 * kLine;
    for (const PlotCurve& curve : panel.curves)
      add_legend(curve, box.left, std::exchange(y, y + kLine));
  }

  Drawing take() { return std::move(drawing_); }

 private:
  void add_line(std::vector<Spot> points, Rgb color) {
    drawing_.strokes.push_back({std::move(points), color, 1, false});
  }

  void add_y_tick(const Box& box, const Tick& tick) {
    const Spot at = box.at({0, tick.at});
    add_line({at, {box.right, at.y}}, kGrid);
    drawing_.texts.push_back(
        {{at.x - kGap, at.y + kLetterHeight / 2}, Anchor::end, tick.text, false});
  }

  void add_x_tick(const Box& box, const Tick& tick) {
    const double x = box.at({tick.at, 0}).x;
    add_line({{x, box.top}, {x, box.bottom}}, kGrid);
    drawing_.texts.push_back({{x, box.bottom + kLine}, Anchor::middle, tick.text, false});
  }

  void add_curves(const Panel& panel, const Box& box) {
    for (const PlotCurve& curve : panel.curves)
      for (const Polyline& line :
           polylines(curve, panel, static_cast<size_t>(box.right - box.left))) {
        Stroke stroke{{}, color_of(curve), kCurveWidth, curve.dashed};
        for (const PlotSample& sample : line) stroke.points.push_back(box.at(sample));
        drawing_.strokes.push_back(std::move(stroke));
      }
  }

  void add_legend(const PlotCurve& curve, double left, double y) {
    const double middle = y - kLetterHeight / 2;
    drawing_.strokes.push_back(
        {{{left, middle}, {left + kSign, middle}}, color_of(curve), 2 * kCurveWidth, curve.dashed});
    drawing_.texts.push_back(
        {{left + kSign + kGap, y}, Anchor::start, curve.label + curve.reading, false});
  }

  Drawing drawing_;
};

}  // namespace

Drawing drawing_of(std::span<const Panel> panels, size_t width, size_t height) {
  PageWriter writer(width, height);
  const double each = static_cast<double>(height) / static_cast<double>(panels.size());
  double top = 0;
  for (const Panel& panel : panels) {
    writer.add(panel, top, top + each);
    top += each;
  }
  return writer.take();
}

}  // namespace exprun
