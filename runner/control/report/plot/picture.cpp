#include "control/report/plot/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/format_units.h"
#include "base/strings.h"

namespace exprun {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSame = 1e-9;     // relative
constexpr double kNearZero = 0.1;  // an axis of x that begins in its first tenth begins at 0

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
  // Smoothing makes values that never change differ in their last bits.
  bool is_constant() const { return high - low <= kSame * std::max(std::abs(low), std::abs(high)); }
};

bool is_drawn(const PlotSample& sample) {
  return std::isfinite(sample.y);
}

Axis x_axis(Range range, const PictureOptions& options) {
  Axis axis{options.x_title, 0, 1, options.log_x, options.x_title == "step"};
  if (axis.is_log) axis.low = 0.1;
  if (range.is_empty()) return axis;
  if (!axis.is_log && range.low > 0 && (range.low <= kNearZero * range.high || range.is_constant()))
    range.low = 0;
  if (range.is_constant()) range.high = axis.is_log ? range.low * 10 : range.low + 1;
  axis.low = range.low;
  axis.high = range.high;
  return axis;
}

// A value that never changes is drawn in the middle.
Axis y_axis(Range range, bool is_log) {
  Axis axis{"", is_log ? 0.1 : 0, 1, is_log};
  if (range.is_empty()) return axis;
  if (range.is_constant()) {
    const double value = range.low;
    const double around = value == 0 ? 1 : std::abs(value) / 10;
    range = is_log ? Range{value / 2, value * 2} : Range{value - around, value + around};
  }
  axis.low = range.low;
  axis.high = range.high;
  return axis;
}

void prepare(PlotCurve& curve, const PictureOptions& options) {
  if (options.smoothing > 0) smooth(curve.samples, options.smoothing);
  if (options.x_unit != 1)
    for (PlotSample& sample : curve.samples) sample.x /= options.x_unit;
  if (options.log_x) std::erase_if(curve.samples, [](const PlotSample& s) { return s.x <= 0; });
  if (options.log_y)
    for (PlotSample& sample : curve.samples)
      if (!(sample.y > 0)) sample.y = kNaN;
}

// The first, lowest, highest and last of the samples in one column, in the order in which they
// came.
class ColumnExtremes {
 public:
  void add(const PlotSample& sample) {
    last_ = {sample, count_};
    if (count_ == 0) first_ = lowest_ = highest_ = last_;
    if (sample.y < lowest_.sample.y) lowest_ = last_;
    if (sample.y > highest_.sample.y) highest_ = last_;
    ++count_;
  }

  void move_to(std::vector<PlotSample>& samples) {
    if (count_ == 0) return;
    Placed middle[] = {lowest_, highest_};
    if (middle[1].place < middle[0].place) std::swap(middle[0], middle[1]);
    size_t next = 0;
    for (const Placed& each : {first_, middle[0], middle[1], last_}) {
      if (each.place < next) continue;
      samples.push_back(each.sample);
      next = each.place + 1;
    }
    count_ = 0;
  }

 private:
  struct Placed {
    PlotSample sample;
    size_t place = 0;
  };
  Placed first_, lowest_, highest_, last_;
  size_t count_ = 0;
};

// What is left of a curve, a line for each stretch without a gap. `position` says where a sample is
// drawn, its x from 0 to 1.
template <typename Position>
std::vector<Polyline> thinned_lines(const std::vector<PlotSample>& samples, size_t columns,
                                    const Position& position) {
  std::vector<Polyline> lines;
  ColumnExtremes column;
  Polyline line;
  int64_t at = -1;
  const auto end_line = [&] {
    column.move_to(line);
    if (!line.empty()) lines.push_back(std::exchange(line, {}));
  };
  for (const PlotSample& sample : samples) {
    if (!is_drawn(sample)) {
      end_line();
      continue;
    }
    const PlotSample placed = position(sample);
    const auto here = static_cast<int64_t>(placed.x * static_cast<double>(columns));
    if (here != at) column.move_to(line);
    at = here;
    column.add(placed);
  }
  end_line();
  return lines;
}

}  // namespace

void smooth(std::vector<PlotSample>& samples, double factor) {
  double mean = 0, weight = 0;
  for (PlotSample& sample : samples) {
    if (!is_drawn(sample)) continue;
    mean = factor * mean + (1 - factor) * sample.y;
    weight = factor * weight + (1 - factor);
    sample.y = mean / weight;
  }
}

Panel make_panel(std::string title, std::vector<PlotCurve> curves, const PictureOptions& options) {
  Range x, y;
  for (PlotCurve& curve : curves) {
    prepare(curve, options);
    for (const PlotSample& sample : curve.samples) {
      x.add(sample.x);
      if (is_drawn(sample)) y.add(sample.y);
    }
  }
  std::vector<std::string> notes;
  if (options.smoothing > 0) notes.push_back("smoothed by " + shortest(options.smoothing));
  if (options.log_y) notes.emplace_back("logarithmic");
  if (y.is_empty())
    notes.emplace_back(options.log_y ? "no finite value above 0" : "no finite value");
  return {std::move(title), x_axis(x, options), y_axis(y, options.log_y), std::move(curves),
          joined(notes)};
}

std::string heading(const Panel& panel, bool with_axis) {
  return panel.title + (with_axis ? " by " + panel.x.title : "") +
         (panel.note.empty() ? "" : " (" + panel.note + ")");
}

std::vector<Polyline> polylines(const PlotCurve& curve, const Panel& panel, size_t columns) {
  return thinned_lines(curve.samples, columns, [&](const PlotSample& sample) {
    return PlotSample{panel.x.at(sample.x), panel.y.at(sample.y)};
  });
}

}  // namespace exprun
