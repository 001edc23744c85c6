#include "control/report/watch/dashboard.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/terminal/terminal.h"

using namespace exprun;

namespace {

Panel falling(const char* title) {
  std::vector<PlotSample> samples;
  for (int step = 0; step <= 100; ++step) samples.push_back({step * 1.0, 4 / (1 + step / 20.0)});
  return make_panel(title, {{"a run, last 0.6667", std::move(samples), 0, false}},
                    {.x_title = "step"});
}

Dashboard of_a_run() {
  Dashboard dashboard;
  dashboard.title = "tiny-1a2b3c4d: running";
  dashboard.fraction = 0.25;
  dashboard.progress = {{"step 100/400"}, {"3 s", 1}, {"ETA 9 s", 2}};
  dashboard.facts = {{{"train/loss 0.667", 1}, {"lr 0.01", 3}, {"48,100 tokens/s", 2}},
                     {{"CPU 199%", 1}, {"memory 133 MiB", 2}}};
  dashboard.panels = {falling("loss")};
  for (int line = 1; line <= 8; ++line)
    dashboard.log.push_back("exprun: line " + std::to_string(line) + " of the log \x1b[31m");
  return dashboard;
}

std::string text_of(const Dashboard& dashboard, size_t columns, size_t lines) {
  std::string text;
  for (const std::string& line : lines_of(dashboard, {columns, lines})) text += line + '\n';
  return text;
}

}  // namespace

TEST_CASE("dashboard: a run at two sizes") {
  CHECK(text_of(of_a_run(), 44, 22) == R"(tiny-1a2b3c4d: running
 25% [===>        ] step 100/400 3 s ETA 9 s
train/loss 0.667  lr 0.01  48,100 tokens/s
CPU 199%  memory 133 MiB

loss by step
4 ┤⠱⡀
  │ ⢣
3 ┤  ⠱⡀
  │   ⠑⢄
  │     ⠑⢄⡀
2 ┤       ⠈⠢⢤⡀
  │          ⠈⠙⠢⠤⣄⡀
1 ┤               ⠈⠉⠑⠒⠢⠤⠤⣀⣀⣀
  │                        ⠈⠉⠉⠉⠒⠒⠒⠒⠤⠤⠤⠤⠤⢤⣀⣀⣀
  └┬───────────────────┬───────────────────┬
   0                  50                 100
━━ a run, last 0.6667

exprun: line 6 of the log �[31m
exprun: line 7 of the log �[31m
exprun: line 8 of the log �[31m
)");
  CHECK(text_of(of_a_run(), 30, 8) == R"(tiny-1a2b3c4d: running
 25% [=>    ] step 100/400 3 s
train/loss 0.667
CPU 199%  memory 133 MiB
)");
}

TEST_CASE("dashboard: it fits every terminal") {
  Dashboard dashboard = of_a_run();
  dashboard.panels.push_back(falling("lr"));
  dashboard.table = ResultTable{{{"trial", "trial", true}, {"changes", "changes"}}, {}};
  for (int trial = 0; trial < 30; ++trial)
    dashboard.table->rows.push_back({Cell::integer(trial), Cell::word("lr=0.001 num_layers=12")});
  for (size_t columns = 1; columns < 200; columns += 7)
    for (size_t lines = 1; lines < 80; lines += 3)
      for (const bool colors : {false, true}) {
        const auto shown = lines_of(dashboard, {columns, lines, colors});
        CHECK(shown.size() <= lines);
        if (columns < 30) continue;  // plots and tables have a least width; the terminal clips them
        for (const std::string& line : shown) CHECK_MESSAGE(shown_width(line) <= columns, line);
      }
}
