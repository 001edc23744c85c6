// exprun plot RUN...
#include <algorithm>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/log.h"
#include "control/command/arguments.h"
#include "control/command/stored_runs.h"
#include "control/report/plot/run_curves.h"
#include "control/report/plot/svg.h"
#include "control/report/plot/terminal_plot.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

constexpr int64_t kUsualWidth = 80, kUsualHeight = 16;  // characters
constexpr int64_t kFileWidth = 800, kPanelHeight = 360, kLegendLine = 18, kMostPixels = 20'000;

struct AskedPlot {
  Words runs;
  CurveOptions curves;
  std::string against = "step", smoothing, svg;
  std::optional<int64_t> width, height;
};

double smoothing_of(const std::string& text) {
  if (text.empty()) return 0;
  const auto factor = parse_number<double>(text);
  if (factor && *factor >= 0 && *factor < 1) return *factor;
  throw Error("plot: --smooth takes a number from 0 to below 1, not '" + text + "'",
              ExitCode::bad_recipe);
}

Against against_of(const std::string& word) {
  if (word == "step") return Against::step;
  if (word == "tokens") return Against::tokens;
  if (word == "time") return Against::time;
  throw Error("plot: --against takes step, tokens or time, not '" + word + "'",
              ExitCode::bad_recipe);
}

void print_plot(const std::vector<Panel>& panels, const AskedPlot& asked) {
  const size_t terminal = terminal_width();
  const int64_t usual = terminal ? static_cast<int64_t>(terminal) : kUsualWidth;
  const TerminalPlotOptions options{static_cast<size_t>(asked.width.value_or(usual)),
                                    static_cast<size_t>(asked.height.value_or(kUsualHeight)),
                                    wants_colours()};
  std::string text;
  for (const Panel& panel : panels) {
    if (!text.empty()) text += '\n';
    for (const std::string& line : plot_lines(panel, options)) text += line + '\n';
  }
  print(text);
}

void write_svg(const std::vector<Panel>& panels, const AskedPlot& asked) {
  int64_t usual = 0;  // the more curves, the longer the legend below them
  for (const Panel& panel : panels)
    usual += kPanelHeight + kLegendLine * static_cast<int64_t>(panel.curves.size());
  const int64_t height = asked.height.value_or(usual);
  const int64_t width = asked.width.value_or(kFileWidth);
  if (std::max(width, height) > kMostPixels)
    throw Error(
        "plot: a file has at most " + with_thousands(kMostPixels) + " pixels in each direction",
        ExitCode::bad_recipe);
  write_file_atomically(asked.svg,
                        to_svg(panels, static_cast<size_t>(width), static_cast<size_t>(height)));
  log_info("wrote " + asked.svg);
}

}  // namespace

int run_plot(const Words& words, const Globals& globals) {
  AskedPlot asked;
  Arguments arguments("plot RUN...", "Plots series of runs as curves, in the terminal or a file.");
  arguments
      .needed_words("RUN...", asked.runs, "folders, ids, names (all runs of it), @last, @best",
                    offer::runs)
      .option("--metric", "SERIES", asked.curves.series,
              "plot this series; may be repeated (default: train/loss and val/loss); series with "
              "the same last word share a panel",
              offer::series)
      .option("--against", "AXIS", asked.against, "step (default), tokens, or time since the start",
              offer::one_of({"step", "tokens", "time"}))
      .option("--smooth", "FACTOR", asked.smoothing,
              "smooth by an exponential moving average, from 0 (none) to below 1")
      .flag("--log-x", asked.curves.log_x, "logarithmic horizontal axis")
      .flag("--log-y", asked.curves.log_y, "logarithmic vertical axis")
      .option("--svg", "FILE", asked.svg, "write an SVG file instead", offer::files)
      .number("--width", asked.width,
              "characters per line (default: the terminal's, or 80); in a file: pixels (default: "
              "800)",
              1)
      .number("--height", asked.height,
              "lines of curves per panel (default: 16); in a file: pixels (default: 360 per panel "
              "and 18 per curve)",
              1)
      .note(
          "Gaps are values that are NaN or infinite, or that a logarithmic axis cannot show. A "
          "column of the plot shows the lowest and highest of its values, however many there "
          "are. Without colors, a letter marks the end of each curve.")
      .exit_codes(kReadsRuns)
      .example("exprun plot @last", "the losses of the newest run")
      .example("exprun plot quickstart --metric val/loss --smooth 0.6 --against tokens",
               "all runs of a name")
      .example("exprun plot @last --metric lr --metric grad_norm --log-y --svg curves.svg",
               "for a paper");
  if (!arguments.parse(words)) return 0;
  asked.curves.smoothing = smoothing_of(asked.smoothing);
  asked.curves.against = against_of(asked.against);
  const Store store = open_store(globals.store);
  const auto panels = panels_of(
      store, plotted_runs(store, reported_runs(store, globals.store, asked.runs)), asked.curves);
  asked.svg.empty() ? print_plot(panels, asked) : write_svg(panels, asked);
  return 0;
}

}  // namespace exprun
