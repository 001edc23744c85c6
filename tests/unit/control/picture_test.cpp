#include "control/report/plot/picture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "control/report/plot/svg.h"
#include "control/report/plot/terminal_plot.h"

using namespace exprun;

namespace {

std::vector<PlotSample> samples(size_t count, double (*y)(double)) {
  std::vector<PlotSample> all;
  for (size_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(i);
    all.push_back({x, y(x)});
  }
  return all;
}

double falling(double x) {
  return 4 / (1 + x / 20);
}

std::string drawn(const Panel& panel, size_t width, size_t height, bool colors = false) {
  std::string text;
  for (const std::string& line : plot_lines(panel, {width, height, colors})) text += line + '\n';
  return text;
}

Panel panel_of(std::vector<PlotSample> of, PictureOptions options = {}) {
  options.x_title = "step";
  return make_panel("loss", {{"a", std::move(of), 0, false}}, options);
}

std::string tick_texts(const Axis& axis, size_t most) {
  std::string text;
  for (const Tick& tick : ticks(axis, most)) text += (text.empty() ? "" : " ") + tick.text;
  return text;
}

}  // namespace

TEST_CASE("plot: a curve at three sizes") {
  const Panel panel = panel_of(samples(101, falling));
  CHECK(drawn(panel, 30, 4) == R"(loss by step
4 ┤⠱⡄
  │ ⠈⠢⣄
2 ┤    ⠉⠒⠦⢤⣀⣀
  │         ⠈⠉⠉⠓⠒⠒⠒⠦⠤⠤⠤⠤⠤⣀⣀⣀⣀⣀
  └┬────────────┬────────────┬
   0           50          100
━━ a
)");
  CHECK(drawn(panel, 60, 8) == R"(loss by step
4 ┤⠱⡀
  │ ⠘⠤⡀
  │   ⠘⢄
  │     ⠉⠢⢄⡀
2 ┤        ⠈⠒⠤⣀⣀
  │             ⠉⠒⠒⠤⢄⣀⡀
  │                   ⠈⠉⠉⠒⠒⠒⠤⠤⠤⣀⣀⣀⣀
  │                                ⠉⠉⠉⠉⠉⠒⠒⠒⠒⠒⠒⠢⠤⠤⠤⠤⠤⠤⠤⠤⣀⣀⣀⣀⣀
  └┬──────────┬──────────┬───────────┬──────────┬──────────┬
   0         20         40          60         80        100
━━ a
)");
  CHECK(drawn(panel, 100, 16) == R"(loss by step
4 ┤⠱⡀
  │ ⠱⡀
  │  ⠘⢄
  │   ⠈⠢⡀
3 ┤     ⠈⢢
  │       ⠱⣀
  │         ⠑⢄
  │           ⠉⠢⣀
  │              ⠉⠢⣀
2 ┤                 ⠉⠒⠤⣀
  │                     ⠉⠑⠢⢄⣀⡀
  │                          ⠈⠑⠒⠢⢄⣀⡀
  │                                ⠈⠉⠑⠒⠤⠤⠤⣀⣀
1 ┤                                         ⠉⠉⠉⠒⠒⠒⠤⠤⢄⣀⣀⣀⡀
  │                                                     ⠈⠉⠉⠉⠑⠒⠒⠒⠢⠤⠤⠤⠤⣀⣀⣀⣀⣀
  │                                                                       ⠉⠉⠉⠉⠉⠉⠑⠒⠒⠒⠒⠒⠒⠢⠤⠤⠤⠤⠤⠤⠤⣀⣀⣀⣀⣀
  └┬──────────────────┬──────────────────┬───────────────────┬──────────────────┬──────────────────┬
   0                 20                 40                  60                 80                100
━━ a
)");
}

TEST_CASE("plot: letters tell curves apart where there are no colors") {
  std::vector<PlotCurve> curves = {
      {"first", samples(11, falling), 0, false},
      {"second", samples(11, [](double x) { return 3 - x / 10; }), 1, true}};
  const Panel panel = make_panel("loss", std::move(curves), {0, false, false, "step", 1});
  CHECK(drawn(panel, 40, 5) == R"(loss by step
4 ┤⠉⠒⠒⠤⠤⢄⣀⣀⡀
  │        ⠈⠉⠑⠒⠒⠤⠤⢄⣀⡀
  │⠒  ⠤⠄ ⢀⣀         ⠈⠉⠉⠑⠒⠒⠒⠤⠤⠤⢄⣀⣀⣀
  │          ⠉⠁ ⠐⠒  ⠤⠤ ⢀⣀⡀        ⠉⠉⠉⠉⠒A
2 ┤                        ⠉⠉ ⠐⠒⠂ ⠤⠤ ⠠⣀B
  └┬─────────────────┬─────────────────┬
   0                 5                10
A ━━ first
B ╍╍ second
)");
  CHECK(drawn(panel, 40, 5, true) ==
        "loss by step\n"
        "4 ┤\x1b[36m⠉⠒⠒⠤⠤⢄⣀⣀⡀\x1b[0m\n"
        "  │        \x1b[36m⠈⠉⠑⠒⠒⠤⠤⢄⣀⡀\x1b[0m\n"
        "  │\x1b[1;33m⠒\x1b[0m  \x1b[1;33m⠤⠄\x1b[0m \x1b[1;33m⢀⣀\x1b[0m         "
        "\x1b[36m⠈⠉⠉⠑⠒⠒⠒⠤⠤⠤⢄⣀⣀⣀\x1b[0m\n"
        "  │          \x1b[1;33m⠉⠁\x1b[0m \x1b[1;33m⠐⠒\x1b[0m  \x1b[1;33m⠤⠤\x1b[0m "
        "\x1b[1;33m⢀⣀⡀\x1b[0m        \x1b[36m⠉⠉⠉⠉⠒⠒\x1b[0m\n"
        "2 ┤                        \x1b[1;33m⠉⠉\x1b[0m \x1b[1;33m⠐⠒⠂\x1b[0m \x1b[1;33m⠤⠤\x1b[0m "
        "\x1b[1;33m⠠⣀⡀\x1b[0m\n"
        "  └┬─────────────────┬─────────────────┬\n"
        "   0                 5                10\n"
        "\x1b[36m━━ \x1b[0mfirst\n"
        "\x1b[1;33m╍╍ \x1b[0msecond\n");
}

TEST_CASE("plot: letters tell curves apart where there are more of them than colors") {
  const auto legend_of_last = [](size_t count) {
    std::vector<PlotCurve> curves;
    for (size_t i = 0; i < count; ++i)
      curves.push_back(
          {"run" + std::to_string(i), {{0, double(i)}, {1, 2.0 * double(i)}}, i, false});
    const std::string text = drawn(make_panel("loss", std::move(curves), {}), 60, 8, true);
    const size_t line = text.rfind('\n', text.size() - 2) + 1;
    return text.substr(line, 1);
  };
  CHECK(legend_of_last(6) == "\x1b");
  CHECK(legend_of_last(7) == "G");
}

TEST_CASE("plot: curves that end in one cell have each its letter there") {
  std::vector<PlotCurve> curves;
  for (size_t i = 0; i < 3; ++i)
    curves.push_back({"run", {{0, static_cast<double>(i)}, {10, 1}}, i, false});
  const Panel panel = make_panel("loss", std::move(curves), {0, false, false, "step", 1});
  CHECK(drawn(panel, 40, 5).find("CBA\n") != std::string::npos);
}

TEST_CASE("plot: what is not finite is a gap, one value a cross, a constant a line in the middle") {
  CHECK(drawn(panel_of({{0, 1}, {1, 2}, {2, NAN}, {3, 2}, {4, INFINITY}, {5, 1}, {6, 2}}), 30, 4) ==
        R"(loss by step
2 ┤   ⢀⠎        ⠙⠁          ⢀⠎
  │  ⢠⠊                    ⢠⠊
  │ ⡠⠃                    ⡠⠃
1 ┤⡰⠁                    ⡰⠁
  └┬─────────────────────┬────
   0                     5
━━ a
)");
  CHECK(drawn(panel_of({{10, 2.5}}), 30, 4) == R"(loss by step
    │
2.6 ┤                        ⣠
2.4 ┤                        ⠈
    │
    └┬───────────┬───────────┬
     0           5          10
━━ a
)");
  CHECK(drawn(panel_of({{0, 3}, {100, 3}}), 30, 4) == R"(loss by step
3.2 ┤
3.0 ┤⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀
2.8 ┤
    │
    └┬───────────┬───────────┬
     0          50         100
━━ a
)");
  CHECK(drawn(panel_of({{0, NAN}, {100, NAN}}), 30, 4) == R"(loss by step (no finite value)
1 ┤
  │
  │
0 ┤
  └┬────────────┬────────────┬
   0           50          100
━━ a
)");
}

TEST_CASE("plot: a constant that smoothing rounds is drawn as one, on any axis") {
  const auto below_title = [](const std::string& text) { return text.substr(text.find('\n')); };
  for (const bool log_y : {false, true})
    for (const double value : {1e-2, 3.7, 1e300}) {
      std::vector<PlotSample> all = samples(50, [](double) { return 1.0; });
      for (PlotSample& sample : all) sample.y = value;
      CHECK(below_title(drawn(panel_of(all, {0.5, false, log_y, "", 1}), 40, 4)) ==
            below_title(drawn(panel_of(all, {0, false, log_y, "", 1}), 40, 4)));
    }
}

TEST_CASE("plot: no extreme is lost, however few the columns") {
  std::mt19937 random(7);
  std::normal_distribution<double> noise;
  for (const size_t columns : {1, 7, 64}) {
    std::vector<PlotSample> all;
    for (int i = 0; i < 5000; ++i)
      all.push_back({static_cast<double>(i), random() % 97 == 0 ? NAN : noise(random)});
    const Panel panel = panel_of(all);
    std::vector<double> lowest(columns + 1, INFINITY), highest(columns + 1, -INFINITY);
    const auto column = [&](double x) {
      return static_cast<size_t>(x * static_cast<double>(columns));
    };
    for (const PlotSample& sample : all) {
      if (std::isnan(sample.y)) continue;
      const size_t at = column(panel.x.at(sample.x));
      lowest[at] = std::min(lowest[at], panel.y.at(sample.y));
      highest[at] = std::max(highest[at], panel.y.at(sample.y));
    }
    for (const Polyline& line : polylines(panel.curves[0], panel, columns)) {
      CHECK(std::is_sorted(line.begin(), line.end(),
                           [](const PlotSample& a, const PlotSample& b) { return a.x < b.x; }));
      for (const PlotSample& sample : line) {
        const size_t at = column(sample.x);
        if (sample.y == lowest[at]) lowest[at] = NAN;
        if (sample.y == highest[at]) highest[at] = NAN;
      }
    }
    for (size_t i = 0; i <= columns; ++i) {
      CHECK_FALSE(std::isfinite(lowest[i]));
      CHECK_FALSE(std::isfinite(highest[i]));
    }
  }
}

TEST_CASE("plot: a thinned curve has at most four samples a column") {
  const Panel panel = panel_of(samples(100'000, [](double x) { return std::sin(x * x); }));
  const auto lines = polylines(panel.curves[0], panel, 100);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].size() <= 404);
  CHECK(lines[0].size() > 200);
}

TEST_CASE("plot: smoothing has no bias to 0, and a gap counts for nothing") {
  std::vector<PlotSample> values = {{0, 4}, {1, NAN}, {2, 2}, {3, 2}};
  smooth(values, 0.5);
  CHECK(values[0].y == doctest::Approx(4));
  CHECK(std::isnan(values[1].y));
  CHECK(values[2].y == doctest::Approx((0.25 * 4 + 0.5 * 2) / 0.75));
  CHECK(values[3].y == doctest::Approx((0.125 * 4 + 0.25 * 2 + 0.5 * 2) / 0.875));
}

TEST_CASE("plot: numbers of axes are round") {
  CHECK(tick_texts({"", 0, 100'000, false}, 6) == "0 20,000 40,000 60,000 80,000 100,000");
  CHECK(tick_texts({"", 2.6, 5.6, false}, 6) == "3.0 3.5 4.0 4.5 5.0 5.5");
  CHECK(tick_texts({"", -1, 1, false}, 5) == "-1.0 -0.5 0 0.5 1.0");
  CHECK(tick_texts({"", 0, 3e-4, false}, 4) == "0 1e-4 2e-4 3e-4");
  CHECK(tick_texts({"", 0, 2.5e9, false}, 4) == "0 1e9 2e9");
  CHECK(tick_texts({"", 1.00001, 1.00002, false}, 3) == "1.000010 1.000015 1.000020");
  CHECK(tick_texts({"", 1e-6, 2, true}, 4) == "1e-6 0.0001 0.01 1");
  CHECK(tick_texts({"", 1, 30, true}, 5) == "1 2 5 10 20");
  CHECK(tick_texts({"", 3, 4, true}, 3) == "3.0 3.5 4.0");
}

TEST_CASE("plot: a logarithmic axis has no place for 0 and below") {
  const Panel panel = panel_of({{0, 1}, {1, 10}, {10, -3}, {100, 1000}}, {0, true, true, "", 1});
  CHECK(panel.x.low == 1);
  CHECK(panel.x.high == 100);
  CHECK(panel.y.low == 10);
  CHECK(panel.y.high == 1000);
  const auto lines = polylines(panel.curves[0], panel, 50);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].size() == 1);
  CHECK(lines[1].size() == 1);
}

TEST_CASE("plot: the title says that nothing is left to draw") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto title = [](std::vector<PlotSample> samples, bool is_log) {
    return heading(
        make_panel("loss", {{"a", std::move(samples), 0, false}}, {0, false, is_log, "", 1}),
        false);
  };
  CHECK(title({{0, nan}, {1, nan}}, false) == "loss (no finite value)");
  CHECK(title({{0, -1}, {1, nan}}, true) == "loss (logarithmic, no finite value above 0)");
  CHECK(title({{0, nan}, {1, 1}}, false) == "loss");
}

TEST_CASE("svg: a drawing of one sample and of a line, with text as text") {
  std::vector<PlotCurve> curves = {{"<a> & b", {{0, 1}, {1, 2}}, 0, false},
                                   {"c", {{1, 1}}, 1, true}};
  const Panel panels[] = {make_panel("loss", std::move(curves), {0, false, false, "step", 1})};
  CHECK(
      to_svg(panels, 300, 200) ==
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200" viewBox="0 0 300 200" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222222">
<rect width="100%" height="100%" fill="#ffffff"/>
<polyline fill="none" stroke="#dddddd" stroke-width="1" stroke-linejoin="round" points="30.5,116 284,116"/>
<polyline fill="none" stroke="#dddddd" stroke-width="1" stroke-linejoin="round" points="30.5,30 284,30"/>
<polyline fill="none" stroke="#dddddd" stroke-width="1" stroke-linejoin="round" points="30.5,26 30.5,120"/>
<polyline fill="none" stroke="#dddddd" stroke-width="1" stroke-linejoin="round" points="284,26 284,120"/>
<polyline fill="none" stroke="#222222" stroke-width="1" stroke-linejoin="round" points="30.5,26 30.5,120 284,120"/>
<polyline fill="none" stroke="#0072b2" stroke-width="1.6" stroke-linejoin="round" points="30.5,116 284,30"/>
<circle cx="284" cy="116" r="3" fill="#d55e00"/>
<polyline fill="none" stroke="#0072b2" stroke-width="3.2" stroke-linejoin="round" points="30.5,169.5 54.5,169.5"/>
<polyline fill="none" stroke="#d55e00" stroke-width="3.2" stroke-linejoin="round" stroke-dasharray="6 4" points="30.5,187.5 54.5,187.5"/>
<text x="30.5" y="18" text-anchor="start" font-weight="bold">loss</text>
<text x="22.5" y="120.5" text-anchor="end">1</text>
<text x="22.5" y="34.5" text-anchor="end">2</text>
<text x="30.5" y="138" text-anchor="middle">0</text>
<text x="284" y="138" text-anchor="middle">1</text>
<text x="157.2" y="156" text-anchor="middle">step</text>
<text x="62.5" y="174" text-anchor="start">&lt;a&gt; &amp; b</text>
<text x="62.5" y="192" text-anchor="start">c</text>
</svg>
)");
}
