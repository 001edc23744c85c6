#include "control/report/runs_table.h"

#include <doctest/doctest.h>

#include <cmath>

#include "control/report/run_details.h"
#include "control/report/table.h"

using namespace exprun;

namespace {

SeriesRow losses(double last, int64_t last_step, double min, int64_t min_step) {
  SeriesRow series;
  series.count = 7;
  series.last = last;
  series.last_step = last_step;
  series.min = min;
  series.min_step = min_step;
  return series;
}

ReportedRun reported(int64_t id, const std::string& lr, double best) {
  ReportedRun reported;
  reported.run.id = id;
  reported.run.folder = "quickstart-0000000" + std::to_string(id);
  reported.run.state = RunState::finished;
  reported.run.steps = reported.run.last_step = 300;
  reported.run.seconds = 72;
  reported.run.started_ms = 1000;
  reported.parameters = {{"model.num_layers", "4"}, {"optimizer.lr", lr}};
  reported.val_loss = losses(best + 0.1, 300, best, 250);
  return reported;
}

}  // namespace

TEST_CASE("report: titles are as short as they can be told apart") {
  const std::vector<std::string> paths = {"optimizer.lr", "optimizer.groups.a.lr",
                                          "evaluation.b.every", "checkpoint.every", "run.seed"};
  CHECK(short_title("run.seed", paths) == "seed");
  CHECK(short_title("model.type", {"model.type"}) == "model.type");
  CHECK(short_title("dataset.groups.a.path", {"dataset.groups.a.path"}) == "a.path");
  CHECK(short_title("optimizer.lr", paths) == "lr");
  CHECK(short_title("optimizer.groups.a.lr", paths) == "a.lr");
  CHECK(short_title("checkpoint.every", paths) == "checkpoint.every");
}

TEST_CASE("report: what a series counts is a whole number") {
  CHECK(series_cell("skipped_updates", 5).text == "5");
  CHECK(series_cell("passed_over_batches", 12345).text == "12,345");
  CHECK(series_cell("val/loss", 5).text == "5.000");
  SeriesRow skipped;
  skipped.name = "skipped_updates";
  skipped.count = 1;
  skipped.last = 3;
  CHECK(summary_cell(skipped, ValueName::Which::last).text == "3");
}

TEST_CASE("ls: how runs stand, by the columns that are wanted") {
  const std::vector<ReportedRun> runs = {reported(1, "0.1", 1.5), reported(2, "0.1", 1.25)};
  ResultTable table = ls_table(runs, 61'000);
  choose_columns(table, ls_columns(runs));
  CHECK(to_plain(table, {}) ==
        "id  run                  state        step  best val/loss  started    time\n"
        " 1  quickstart-00000001  finished  300/300          1.500   1m ago  1m 12s\n"
        " 2  quickstart-00000002  finished  300/300          1.250   1m ago  1m 12s\n");
  table = ls_table(runs, 61'000);
  sort_rows(table, "val_loss_best", false);
  choose_columns(table, {"val_loss_last", "id"});
  CHECK(to_csv(table) == "val_loss_last,id\n1.35,2\n1.6,1\n");
  sort_rows(table, "id", false);
  CHECK(std::get<int64_t>(table.rows[0][1].value) == 1);
  sort_rows(table, "id", true);
  CHECK(std::get<int64_t>(table.rows[0][1].value) == 2);
}

TEST_CASE("ls: sorted either way, NaN comes behind all numbers and no value last") {
  ResultTable table{{{"loss", "loss"}}, {}};
  const double nan = std::nan("");
  for (const double value : {2.0, nan, 3.0, nan, 1.0, 4.0, nan, 0.5})
    table.rows.push_back({Cell::number(value)});
  table.rows.insert(table.rows.begin() + 2, {Cell::none()});
  sort_rows(table, "loss", false);
  CHECK(to_csv(table) == "loss\n0.5\n1\n2\n3\n4\nnan\nnan\nnan\n\n");
  sort_rows(table, "loss", true);
  CHECK(to_csv(table) == "loss\n4\n3\n2\n1\n0.5\nnan\nnan\nnan\n\n");
}

TEST_CASE("ls: a column is known by its header too") {
  const std::vector<ReportedRun> runs = {reported(1, "0.1", 1.25), reported(2, "0.1", 1.5)};
  ResultTable table = ls_table(runs, 61'000);
  sort_rows(table, "best val/loss", true);
  choose_columns(table, {"val loss", "seconds", "time", "started", "id"});
  CHECK(to_plain(table, {}) ==
        "val/loss    time    time  started  id\n"
        "   1.600  1m 12s  1m 12s   1m ago   2\n"
        "   1.350  1m 12s  1m 12s   1m ago   1\n");
  sort_rows(table, "val_loss", false);  // "val/loss"
  CHECK(table.rows[0][0].text == "1.350");
  const std::string explained = to_plain(ls_columns_explained(), {});
  CHECK(explained.find("name                header         what it is\n") == 0);
  CHECK(explained.find("\nseconds             time           how long it ran, in seconds\n") !=
        std::string::npos);
}

TEST_CASE("ls: a narrow terminal has the run and what tells most of it") {
  std::vector<ReportedRun> runs = {reported(1, "0.1", 1.5)};
  runs[0].run.tags = "first";
  ResultTable table = ls_table(runs, 61'000);
  choose_columns(table, ls_columns(runs));
  CHECK(to_plain(table, {80, false}) ==
        "id  run                  state        step  best val/loss  started  tags\n"
        " 1  quickstart-00000001  finished  300/300          1.500   1m ago  first\n");
  CHECK(to_plain(table, {40, false}) ==
        "id  run                  state     tags\n"
        " 1  quickstart-00000001  finished  first\n");
  CHECK(to_plain(table, {20, false}) == "run\nquickstart-00000001\n");
}

TEST_CASE("ls: a run of another host is unknown, with its last sign of life") {
  ReportedRun far = reported(1, "0.1", 1.5);
  far.run.state = RunState::running;
  far.run.host = "another-host";
  far.run.boot_id = "another-boot";
  far.run.last_beat_ms = 1000;
  const ResultTable table = ls_table({far}, 301'000);
  CHECK(table.rows[0][2].text == "unknown: on another-host, last seen 5m ago");
  CHECK(std::get<std::string>(table.rows[0][2].value) == "unknown");
}

TEST_CASE("result: losses and the recipe's metric, with the best where it is not the last") {
  const RunRow run = reported(1, "0.1", 1.5).run;
  SeriesRow val_loss = losses(1.6, 300, 1.5, 250), train_loss = losses(1.25, 300, 1.25, 300),
            quiz = losses(0.5, 300, 0.25, 100);
  val_loss.name = "val/loss";
  train_loss.name = "train/loss";
  quiz.name = "quiz/acc";
  quiz.max = 0.75;
  quiz.max_step = 200;
  const std::string before = "quickstart-00000001: finished\n  steps       300 of 300\n",
                    losses = "  val loss    1.600, best 1.500 at step 250\n  train loss  1.250\n",
                    after = "  time        1m 12s\n  folder      runs/1\n";
  const std::vector<SeriesRow> series{val_loss, train_loss, quiz};
  CHECK(run_result(run, series, {}, "runs/1") == before + losses + after);
  CHECK(run_result(run, series, best_value_of("quiz/acc", true), "runs/1") ==
        before + losses + "  metric      quiz/acc 0.5000, best 0.7500 at step 200\n" + after);
  CHECK(run_result(run, {quiz}, best_value_of("quiz/acc", false), "runs/1") ==
        before + "  metric      quiz/acc 0.5000, best 0.2500 at step 100\n" + after);
  CHECK(run_result(run, {}, best_value_of("quiz/acc", true), "runs/1") == before + after);
}
