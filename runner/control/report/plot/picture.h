// A plot before it is drawn: panels with axes and curves. terminal_plot.h and svg.h draw it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "control/report/plot/axis.h"

namespace exprun {

struct PlotSample {
  double x = 0, y = 0;  // y that is not finite is a gap
};

struct PlotCurve {
  std::string label;                // for the legend
  std::vector<PlotSample> samples;  // by rising x
  size_t color = 0;                 // its place in the palette, which begins anew at its end
  bool dashed = false;
  std::string reading = {};  // after the label, which is cut first: " val/loss, last 2.465"
};

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<PlotCurve> curves;
  std::string note = {};  // how it is drawn: "smoothed by 0.6, logarithmic"
};

// "train/loss (smoothed by 0.6)"; with the axis, "train/loss by step (smoothed by 0.6)".
std::string heading(const Panel& panel, bool with_axis);

struct PictureOptions {
  double smoothing = 0;  // 0 to below 1: the weight of what was before
  bool log_x = false, log_y = false;
  std::string x_title;
  double x_unit = 1;  // x is divided by it: 60 for minutes
};

// Smooths the curves, and fits the axes to what can be drawn. What a logarithmic axis has no place
// for becomes a gap. The note says where nothing is left to draw.
Panel make_panel(std::string title, std::vector<PlotCurve> curves, const PictureOptions& options);

// Exponential moving average without bias to 0 at the beginning, as TensorBoard's:
// m = f * m + (1 - f) * y, drawn as m / (1 - f^n). Gaps stay and count for nothing.
void smooth(std::vector<PlotSample>& samples, double factor);

// A line through samples without a gap, in parts of the panel: 0,0 at the lower left, 1,1 opposite.
using Polyline = std::vector<PlotSample>;

// The curve as lines, thinned for a drawing of so many pixel columns: of each column the first, the
// lowest, the highest and the last sample stay, so no extreme is lost.
std::vector<Polyline> polylines(const PlotCurve& curve, const Panel& panel, size_t columns);

}  // namespace exprun
