// exprun plot RUN...
#include <algorithm>
#include <array>
#include <filesystem>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/report/plot/png.h"
#include "control/report/plot/run_curves.h"
#include "control/report/plot/svg.h"
#include "control/report/plot/terminal_plot.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

constexpr int64_t kFileWidth = 800, kUsualScale = 2, kPanelHeight = 360, kLegendLine = 18;
constexpr int64_t kMostPixels = 10'000;  // of a file, in each direction

struct AskedPlot {
  Words runs;
  std::string sweep;
  CurveOptions curves;
  std::string against = "step", smoothing, svg, png;
  std::optional<int64_t> width, height, scale;
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

// "curves.jpg" for a PNG. A name without an extension, or "v1.2", names no format.
bool names_another_format(const std::string& file, const std::string& extension) {
  constexpr std::array kFormats = {".svg", ".png",  ".jpg", ".jpeg",
                                   ".gif", ".webp", ".pdf", ".eps"};
  const std::string found = lower_case(std::filesystem::path(file).extension().string());
  return found != extension && std::ranges::find(kFormats, found) != kFormats.end();
}

void print_plot(const std::vector<Panel>& panels, const AskedPlot& asked) {
  TerminalPlotOptions options = fitted_to_terminal();
  if (asked.width) options.width = static_cast<size_t>(*asked.width);
  if (asked.height) options.height = static_cast<size_t>(*asked.height);
  std::string text;
  for (const Panel& panel : panels) {
    if (!text.empty()) text += '\n';
    for (const std::string& line : plot_lines(panel, options)) text += line + '\n';
  }
  print(text);
}

void write(const std::string& file, const std::string& bytes) {
  write_file_atomically(file, bytes);
  log_info("wrote " + file);
}

void write_files(const std::vector<Panel>& panels, const AskedPlot& asked) {
  int64_t usual = 0;  // the more curves, the longer the legend below them
  for (const Panel& panel : panels)
    usual += kPanelHeight + kLegendLine * static_cast<int64_t>(panel.curves.size());
  const int64_t height = asked.height.value_or(usual), width = asked.width.value_or(kFileWidth);
  const int64_t scale = asked.png.empty() ? 1 : asked.scale.value_or(kUsualScale);
  if (scale > kMostPixels || std::max(width, height) > kMostPixels / scale)
    throw Error(
        "plot: a file has at most " + with_thousands(kMostPixels) + " pixels in each direction",
        ExitCode::bad_recipe);
  const auto of = [](int64_t pixels) { return static_cast<size_t>(pixels); };
  if (!asked.svg.empty()) write(asked.svg, to_svg(panels, of(width), of(height)));
  if (asked.png.empty()) return;
  write(asked.png, to_png(panels, of(width), of(height), of(scale)));
  if (!png_has_all_characters(panels, of(width), of(height)))
    log_warning(
        "the PNG's font lacks some of the characters, which are boxes; --svg FILE shows them");
}

}  // namespace

int run_plot(const Words& words, const Globals& globals) {
  AskedPlot asked;
  Arguments arguments("plot RUN...|--sweep SWEEP",
                      "Plots series of runs as curves, in the terminal or a file.");
  arguments.words("RUN...", asked.runs, kRunsHelp, offer::runs)
      .option("--sweep", "SWEEP", asked.sweep, std::string("all runs of a sweep: ") + kSweepHelp,
              offer::sweeps)
      .list("--metric", "A,B", asked.curves.series,
            "plot these series (default: train/loss and val/loss); series with "
            "the same name after the last / share a panel",
            offer::series)
      .option("--against", "AXIS", asked.against,
              "step (default), tokens, or time (without the pauses of a resumed run)",
              offer::one_of({"step", "tokens", "time"}))
      .option("--smooth", "FACTOR", asked.smoothing,
              "smooth with an exponential moving average; FACTOR is at least 0 (none) and below 1")
      .flag("--log-x", asked.curves.log_x, "logarithmic horizontal axis")
      .flag("--log-y", asked.curves.log_y, "logarithmic vertical axis")
      .option("--svg", "FILE", asked.svg, "write an SVG file instead", offer::files)
      .option("--png", "FILE", asked.png, "write a PNG file instead, or along with an SVG file",
              offer::files)
      .number("--scale", asked.scale,
              "multiply --width and --height of a PNG file by N (default: 2)", 1)
      .number("--width", asked.width,
              "characters per line, at least 30 (default: the terminal's, or 80); in a file: "
              "pixels (default: 800)",
              1)
      .number(
          "--height", asked.height,
          "height of a panel in lines (default: 16); in a file: pixels in all (default: 360 for "
          "each panel and 18 for each curve)",
          1)
      .note(
          "Gaps mark values that are NaN or infinite, or that a logarithmic axis cannot show. A "
          "column of the plot shows the lowest and highest of its values, however many there "
          "are. Where colors do not tell the curves apart, a letter marks the end of each.")
      .exit_codes(kReadsRuns)
      .example("exprun plot @last", "the losses of the newest run")
      .example("exprun plot quickstart --metric val/loss --smooth 0.6 --against tokens",
               "all runs with this name")
      .example("exprun plot --sweep @last", "the trials of the newest sweep")
      .example("exprun plot @last --metric lr --metric grad_norm --log-y --svg curves.svg",
               "for a paper")
      .example("exprun plot @last --png curves.png --scale 3", "for a slide");
  if (!arguments.parse(words)) return 0;
  if (names_another_format(asked.svg, ".svg") || names_another_format(asked.png, ".png"))
    throw Error("plot: --svg writes SVG and --png writes PNG; give the file a name that says so",
                ExitCode::bad_recipe);
  if (asked.scale && asked.png.empty())
    throw Error("plot: --scale needs --png FILE", ExitCode::bad_recipe);
  require_runs("plot", asked.runs, asked.sweep);
  asked.curves.smoothing = smoothing_of(asked.smoothing);
  asked.curves.against = against_of(asked.against);
  const Store store = open_store(globals.store);
  const auto runs = reported_runs(store, globals.store, asked.runs, asked.sweep);
  const auto panels = panels_of(store, plotted_runs(store, runs), asked.curves);
  asked.svg.empty() && asked.png.empty() ? print_plot(panels, asked) : write_files(panels, asked);
  return 0;
}

}  // namespace exprun
