#include "control/report/compare/side_by_side.h"

#include <doctest/doctest.h>

using namespace exprun;

namespace {

ResultTable four_runs() {
  std::vector<ReportedRun> runs(4);
  ComparedColumn rate{{"optimizer.lr", "optimizer.lr"}, {}};
  ComparedColumn loss{{"", "best val/loss"}, {}, Goal::lowest};
  for (int i = 0; i < 4; ++i) {
    runs[static_cast<size_t>(i)].run.folder =
        i == 1 ? "größe-日本" : "quickstart-0000000" + std::to_string(i);
    rate.cells.push_back(
        Cell::word(i == 3 ? std::string(60, 'x') : "0.00" + std::to_string(i) + " (override)"));
    loss.cells.push_back(Cell::number(2.5 - i));
  }
  return side_by_side("parameter", runs, {rate, loss});
}

}  // namespace

TEST_CASE("compare: runs that have no room beside the others stand below") {
  CHECK(side_by_side_text(four_runs(), 80, false) ==
        "parameter      quickstart-00000000  größe-日本        quickstart-00000002\n"
        "optimizer.lr   0.000 (override)     0.001 (override)  0.002 (override)\n"
        "best val/loss  2.500                1.500             0.5000\n"
        "\n"
        "parameter      quickstart-00000003\n"
        "optimizer.lr   " +
            std::string(47, 'x') +
            "…\n"
            "best val/loss  -0.5000\n");
  const std::string wide = side_by_side_text(four_runs(), 200, false);
  CHECK(wide.find("\n\n") == std::string::npos);
  CHECK(wide.find(std::string(43, 'x') + "…") != std::string::npos);
  CHECK(side_by_side_text(four_runs(), 0, false).find(std::string(47, 'x') + "…\n") !=
        std::string::npos);
  CHECK(side_by_side_text(four_runs(), 0, true).find("\033[1;32m-0.5000\033[0m") !=
        std::string::npos);
}

TEST_CASE("compare: a number keeps its step, and texts have the room that there is") {
  std::vector<ReportedRun> runs(6);
  ComparedColumn loss{{"", "best val/loss"}, {}, Goal::lowest};
  ComparedColumn steps{{"run.steps", "run.steps"}, {}};
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].run.folder = "run-" + std::to_string(i);
    loss.cells.push_back(Cell::number(0.77, "0.7709 at step 400"));
    steps.cells.push_back(Cell::word("400 steps (derived)"));
  }
  const ResultTable table = side_by_side("parameter", runs, {loss, steps});
  CHECK(side_by_side_text(table, 76, false) ==
        "parameter      run-0                run-1                run-2\n"
        "best val/loss  0.7709 at step 400   0.7709 at step 400   0.7709 at step 400\n"
        "run.steps      400 steps (derived)  400 steps (derived)  400 steps (derived)\n"
        "\n"
        "parameter      run-3                run-4                run-5\n"
        "best val/loss  0.7709 at step 400   0.7709 at step 400   0.7709 at step 400\n"
        "run.steps      400 steps (derived)  400 steps (derived)  400 steps (derived)\n");
  CHECK(side_by_side_text(table, 75, false)
            .starts_with(
                "parameter      run-0                run-1                run-2\n"
                "best val/loss  0.7709 at step 400   0.7709 at step 400   0.7709 at step 400\n"
                "run.steps      400 steps (derived)  400 steps (derived)  400 steps (derive…\n"
                "\n"));
}

TEST_CASE("compare: the narrowest terminal has one run at a time") {
  const std::string text = side_by_side_text(four_runs(), 10, false);
  size_t tables = 0;
  for (size_t at = 0; (at = text.find("parameter", at)) != std::string::npos; ++at) ++tables;
  CHECK(tables == 4);
}
