#include "control/report/plot/terminal_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/terminal/terminal.h"
#include "base/utf8.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

constexpr Ink kTerminalPalette[] = {Ink::cyan,  Ink::yellow, Ink::magenta,
                                    Ink::green, Ink::red,    Ink::blue};
constexpr int kDotsWide = 2, kDotsHigh = 4;  // of a braille character
constexpr int kDash = 4;                     // dots drawn, and as many left out
constexpr size_t kRowsPerTick = 3, kColumnsPerTick = 11;

Ink ink_of(const PlotCurve& curve) {
  return kTerminalPalette[curve.color % std::size(kTerminalPalette)];
}

std::string letter_of(size_t curve) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  return std::string(1, kLetters[curve % kLetters.size()]);
}

struct DotCell {
  unsigned dots = 0;    // as in U+2800 and those after it
  size_t curve = 0;     // the last that drew in it
  bool letter = false;  // of that curve, in place of its dots
};

class Canvas {
 public:
  Canvas(size_t width, size_t height) : width_(width), height_(height), cells_(width * height) {}

  int dots_wide() const { return static_cast<int>(width_) * kDotsWide; }
  int dots_high() const { return static_cast<int>(height_) * kDotsHigh; }

  // From the lower left.
  void dot(int x, int y, size_t curve) {
    if (x < 0 || y < 0 || x >= dots_wide() || y >= dots_high()) return;
    static constexpr unsigned kBits[kDotsHigh][kDotsWide] = {
        {0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {0x01, 0x08}};
    DotCell& cell = at(x, y);
    cell.dots |= kBits[y % kDotsHigh][x % kDotsWide];
    cell.curve = curve;
  }

  // Where another letter stands, the next free place to the left.
  void letter(int x, int y, size_t curve) {
    while (x >= kDotsWide && at(x, y).letter) x -= kDotsWide;
    at(x, y) = {at(x, y).dots, curve, true};
  }

  const DotCell& cell(size_t column, size_t row) const { return cells_[row * width_ + column]; }

 private:
  DotCell& at(int x, int y) {
    const size_t row = height_ - 1 - static_cast<size_t>(y / kDotsHigh);
    return cells_[row * width_ + static_cast<size_t>(x / kDotsWide)];
  }

  size_t width_, height_;
  std::vector<DotCell> cells_;
};

class Pen {
 public:
  Pen(Canvas& canvas, size_t curve, bool dashed)
      : canvas_(canvas), curve_(curve), dashed_(dashed) {}

  void draw(const Polyline& line) {
    move_to(line.front());
    if (line.size() == 1) return draw_cross();
    for (const PlotSample& sample : line) draw_to(sample);
  }

  int x() const { return x_; }
  int y() const { return y_; }

 private:
  static int dot_at(double part, int dots) {
    return static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * (dots - 1)));
  }

  void move_to(const PlotSample& sample) {
    x_ = dot_at(sample.x, canvas_.dots_wide());
    y_ = dot_at(sample.y, canvas_.dots_high());
  }

  void draw_to(const PlotSample& sample) {
    const int from_x = x_, from_y = y_;
    move_to(sample);
    const int across = x_ - from_x, up = y_ - from_y;
    const int steps = std::max({std::abs(across), std::abs(up), 1});
    for (int i = 0; i <= steps; ++i)
      put(from_x + static_cast<int>(std::lround(double(across) * i / steps)),
          from_y + static_cast<int>(std::lround(double(up) * i / steps)));
  }

  void put(int x, int y) {
    const bool is_shown = !dashed_ || drawn_ / kDash % 2 == 0;
    ++drawn_;
    if (is_shown) canvas_.dot(x, y, curve_);
  }

  // One sample alone would be a dot that nobody sees.
  void draw_cross() {
    for (const int away : {-1, 0, 1}) {
      canvas_.dot(x_ + away, y_, curve_);
      canvas_.dot(x_, y_ + away, curve_);
    }
  }

  Canvas& canvas_;
  size_t curve_;
  bool dashed_;
  int x_ = 0, y_ = 0, drawn_ = 0;
};

void draw_curves(Canvas& canvas, const Panel& panel, bool letters) {
  std::vector<std::pair<size_t, Pen>> ended;
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    Pen pen(canvas, i, panel.curves[i].dashed);
    const auto lines = polylines(panel.curves[i], panel, static_cast<size_t>(canvas.dots_wide()));
    for (const Polyline& line : lines) pen.draw(line);
    if (!lines.empty()) ended.emplace_back(i, pen);
  }
  if (!letters) return;
  // After all curves: what is drawn later takes a cell over.
  for (const auto& [curve, pen] : ended) canvas.letter(pen.x(), pen.y(), curve);
}

std::string cell_text(const DotCell& cell) {
  std::string text;
  if (cell.letter) return letter_of(cell.curve);
  if (cell.dots == 0) return " ";
  append_code_point(text, 0x2800 + cell.dots);
  return text;
}

std::string row_text(const Canvas& canvas, const Panel& panel, size_t width, size_t row,
                     bool colors) {
  std::string text, colored;
  Ink ink = Ink::plain;
  const auto flush = [&] {
    text += colored.empty() ? "" : inked(colored, ink, colors);
    colored.clear();
  };
  for (size_t column = 0; column < width; ++column) {
    const DotCell& cell = canvas.cell(column, row);
    const Ink next = cell.dots ? ink_of(panel.curves[cell.curve]) : Ink::plain;
    if (next != ink) flush();
    ink = next;
    colored += cell_text(cell);
  }
  flush();
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

size_t place_of(double part, size_t cells) {
  return static_cast<size_t>(std::lround(part * static_cast<double>(cells - 1)));
}

// The labels of the y axis, a line each; empty where there is none. One number alone would give no
// scale.
std::vector<std::string> y_labels(const Panel& panel, size_t height) {
  constexpr size_t kLeast = 2;
  for (size_t most = height / kRowsPerTick + 1;; ++most) {
    std::vector<std::string> labels(height);
    for (const Tick& tick : ticks(panel.y, most))
      labels[height - 1 - place_of(tick.at, height)] = tick.text;
    const auto empty = std::count(labels.begin(), labels.end(), "");
    if (height - static_cast<size_t>(empty) >= kLeast || most >= 2 * height) return labels;
  }
}

// The axis below the curves and the numbers below it, those that have room.
void add_x_axis(std::vector<std::string>& lines, const Panel& panel, size_t margin, size_t width) {
  std::vector<bool> marked(width);
  const size_t left = margin + 1, end = left + width;
  std::string numbers(left, ' ');
  for (const Tick& tick : ticks(panel.x, width / kColumnsPerTick + 1)) {
    const size_t at = place_of(tick.at, width), size = tick.text.size();
    marked[at] = true;
    const size_t begin = std::min(left + at - size / 2, end - size);
    if (numbers.size() > left && begin <= numbers.size()) continue;
    numbers.resize(begin, ' ');
    numbers += tick.text;
  }
  std::string axis = std::string(margin, ' ') + "└";
  for (size_t i = 0; i < width; ++i) axis += marked[i] ? "┬" : "─";
  lines.push_back(axis);
  lines.push_back(numbers);
}

// Of the labels that differ, as many bytes of their beginning as all share: whole words, or within
// the first one whole characters, and never a whole label.
size_t common_start(const std::vector<PlotCurve>& curves) {
  const std::string& first = curves.front().label;
  size_t size = first.size();
  bool differ = false;
  for (const PlotCurve& curve : curves) {
    const auto end =
        std::mismatch(first.begin(), first.end(), curve.label.begin(), curve.label.end());
    size = std::min(size, static_cast<size_t>(end.first - first.begin()));
    differ = differ || curve.label != first;
  }
  if (!differ || size == 0) return 0;
  const size_t blank = first.find_last_of(" /", size - 1);
  if (blank != first.npos) return blank + 1;
  const bool is_whole = std::any_of(curves.begin(), curves.end(), [&](const PlotCurve& curve) {
    return curve.label.size() == size;
  });
  return is_whole ? 0 : first_bytes(first, size).size();
}

// Where colors do not tell the curves apart.
bool has_letters(const Panel& panel, const TerminalPlotOptions& options) {
  if (!options.colors) return panel.curves.size() > 1;
  std::set<std::pair<Ink, bool>> looks;
  for (const PlotCurve& curve : panel.curves) looks.emplace(ink_of(curve), curve.dashed);
  return looks.size() < panel.curves.size();
}

// A line for each curve. Where one has no room, what all labels begin with is cut first: it tells
// none of them apart.
std::vector<std::string> legend(const Panel& panel, const TerminalPlotOptions& options) {
  const size_t room = options.width - 5;
  const bool letters = has_letters(panel, options);
  const bool fit = std::all_of(panel.curves.begin(), panel.curves.end(), [&](const PlotCurve& c) {
    return display_width(c.label) + display_width(c.reading) <= room;
  });
  const size_t start = fit || panel.curves.empty() ? 0 : common_start(panel.curves);
  std::vector<std::string> lines;
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const PlotCurve& curve = panel.curves[i];
    const std::string sign = curve.dashed ? "╍╍ " : "━━ ";
    const std::string label = (start ? "…" : "") + curve.label.substr(start);
    const size_t for_label = room - std::min(room, display_width(curve.reading));
    const std::string text = clipped(shortened(label, for_label) + curve.reading, room);
    const std::string letter = letters ? letter_of(i) + ' ' : "";
    lines.push_back(letter + inked(sign, ink_of(curve), options.colors) + text);
  }
  return lines;
}

}  // namespace

TerminalPlotOptions fitted_to_terminal() {
  TerminalPlotOptions options;
  if (const size_t width = terminal_width()) options.width = width;
  options.colors = stdout_wants_color();
  return options;
}

std::vector<std::string> plot_lines(const Panel& panel, const TerminalPlotOptions& asked) {
  TerminalPlotOptions options = asked;
  options.width = std::max(options.width, kLeastPlotWidth);
  options.height = std::max(options.height, kLeastPlotHeight);
  const std::vector<std::string> labels = y_labels(panel, options.height);
  size_t margin = 0;
  for (const std::string& label : labels) margin = std::max(margin, label.size() + 1);
  const size_t width = options.width - std::min(options.width - 10, margin + 1);
  Canvas canvas(width, options.height);
  draw_curves(canvas, panel, has_letters(panel, options));

  std::vector<std::string> lines = {clipped(heading(panel, true), options.width)};
  for (size_t row = 0; row < options.height; ++row) {
    const std::string& label = labels[row];
    lines.push_back(std::string(margin - 1 - label.size(), ' ') + label +
                    (label.empty() ? " │" : " ┤") +
                    row_text(canvas, panel, width, row, options.colors));
  }
  add_x_axis(lines, panel, margin, width);
  for (std::string& line : legend(panel, options)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace exprun
