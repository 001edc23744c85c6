// exprun report: runs side by side, groups of runs, and every form of the table.
#include "control/report/compare/report_columns.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/terminal/terminal.h"
#include "control/report/compare/run_groups.h"
#include "control/report/compare/spread.h"
#include "store/run_state.h"

using namespace exprun;

namespace {

SeriesRow losses(double last, double min, int64_t min_step) {
  SeriesRow series;
  series.count = 7;
  series.last = last;
  series.last_step = 300;
  series.min = min;
  series.min_step = min_step;
  return series;
}

ReportedRun reported(int64_t id, double best, RunState state = RunState::finished) {
  ReportedRun reported;
  reported.run.id = id;
  reported.run.folder = "slow-0000000" + std::to_string(id);
  reported.run.state = state;
  reported.run.steps = reported.run.last_step = 300;
  reported.run.seconds = 72;
  reported.run.boot_id = this_process().boot_id;
  reported.val_loss = losses(best + 0.1, best, 250);
  return reported;
}

std::vector<Cell> cells(const std::vector<std::string>& values) {
  std::vector<Cell> cells;
  for (const std::string& value : values) cells.push_back(value_cell(value));
  return cells;
}

std::vector<ComparedColumn> lr(const std::vector<std::string>& values) {
  return parameter_columns({"optimizer.lr"}, {cells(values)}, {"optimizer.lr"}, false);
}

std::vector<ComparedColumn> usual_metrics(const std::vector<ReportedRun>& runs) {
  std::vector<std::optional<SeriesRow>> losses;
  for (const ReportedRun& run : runs) losses.push_back(run.val_loss);
  return usual_metrics(runs, {}, losses);
}

// As `report` orders them: the first metric's best first.
ResultTable table(const std::vector<ReportedRun>& runs, std::vector<ComparedColumn> parameters) {
  auto metrics = usual_metrics(runs);
  const auto order = sorted_order(metrics[0].cells, false);
  return table_of(columns_of_runs(runs, std::move(parameters), std::move(metrics)), order);
}

ResultTable two_runs() {
  return table({reported(2, 2.5), reported(1, 1.9149)}, lr({"3e-5", "0.001"}));
}

// A run in every state, one of them with wide characters, a NaN, and one without a loss.
ResultTable every_state() {
  std::vector<ReportedRun> runs;
  std::vector<std::string> rates;
  for (int state = 0; state <= static_cast<int>(RunState::pruned); ++state) {
    runs.push_back(reported(state + 1, 1 + state % 3, static_cast<RunState>(state)));
    rates.push_back("0.00" + std::to_string(state));
  }
  runs[1].run.folder = "größe-日本";
  runs[2].val_loss->last = std::nan("");
  runs[2].run.last_step = 17;
  runs[3].val_loss.reset();
  runs[4].val_loss->min = runs[4].val_loss->max = std::nan("");
  runs[4].val_loss->non_finite = runs[4].val_loss->count;
  return table(runs, lr(rates));
}

}  // namespace

TEST_CASE("report: the best run stands first, and its state stays on a narrow terminal") {
  CHECK(to_plain(two_runs(), {200, false}) ==
        "run            best val/loss  at step  val/loss  train/loss     lr     step  state       "
        "time\n"
        "slow-00000001          1.915      250     2.015              0.001  300/300  finished  "
        "1m 12s\n"
        "slow-00000002          2.500      250     2.600               3e-5  300/300  finished  "
        "1m 12s\n");
  std::vector<std::string> left_out;
  CHECK(to_plain(two_runs(), {80, false}, &left_out) ==
        "run            best val/loss  val/loss  train/loss     lr     step  state\n"
        "slow-00000001          1.915     2.015              0.001  300/300  finished\n"
        "slow-00000002          2.500     2.600               3e-5  300/300  finished\n");
  CHECK(left_out == std::vector<std::string>{"at step", "time"});
  CHECK(to_plain(two_runs(), {40, false}) ==
        "run            best val/loss  state\n"
        "slow-00000001          1.915  finished\n"
        "slow-00000002          2.500  finished\n");
}

TEST_CASE("report: results and settings have the room before where a fork began") {
  std::vector<ReportedRun> runs{reported(2, 2.5), reported(1, 1.9149)};
  runs[0].run.origin =
      R"({"run": "1", "folder": "slow-00000001", "step": 100, "fresh_optimizer": false})";
  auto parameters = lr({"3e-5", "0.001"});
  parameters.push_back(*fork_column(runs));
  std::vector<std::string> left_out;
  const ResultTable both = table(runs, std::move(parameters));
  CHECK(to_plain(both, {80, false}, &left_out) ==
        "run            best val/loss  val/loss  train/loss     lr     step  state\n"
        "slow-00000001          1.915     2.015              0.001  300/300  finished\n"
        "slow-00000002          2.500     2.600               3e-5  300/300  finished\n");
  CHECK(left_out == std::vector<std::string>{"at step", "forked at", "time"});
  CHECK(to_csv(both).find("no fork") == std::string::npos);
  CHECK(to_plain(both, {0, false}).find("no fork") == std::string::npos);
}

TEST_CASE("report: the last value of the metric has its room before all settings but the first") {
  const std::vector<std::string> paths = {"optimizer.lr", "model.hidden_size", "model.num_layers"};
  auto parameters = parameter_columns(
      paths, {cells({"3e-5", "0.001"}), cells({"16", "32"}), cells({"1", "2"})}, paths, false);
  std::vector<std::string> left_out;
  const ResultTable both = table({reported(2, 2.5), reported(1, 1.9149)}, std::move(parameters));
  to_plain(both, {60, false}, &left_out);
  CHECK(std::ranges::find(left_out, "val/loss") == left_out.end());
  CHECK(std::ranges::find(left_out, "hidden_size") != left_out.end());
  left_out.clear();
  to_plain(both, {46, false}, &left_out);
  CHECK(std::ranges::find(left_out, "lr") == left_out.end());
}

TEST_CASE("report: the type of an evaluation that is named after it tells no more than its keys") {
  using Values = std::vector<std::string>;
  const auto shown = [](const std::string& path, const Values& types, const Values& every,
                        bool all = false) {
    const std::string table = path.substr(0, path.rfind('.') + 1);
    const Values paths = {table + "every", path};
    size_t count = 0;
    for (const ComparedColumn& column :
         parameter_columns(paths, {cells(every), cells(types)}, paths, all))
      count += column.column.key == path;
    return count == 1;
  };
  const std::string type = "evaluation.sample.type";
  CHECK(!shown(type, {"\"sample\"", ""}, {"\"5 steps\"", ""}));
  CHECK(shown(type, {"\"sample\"", ""}, {"\"5 steps\"", ""}, true));
  CHECK(shown(type, {"\"sample\"", ""}, {"", ""}));
  CHECK(shown(type, {"\"sample\"", "\"sample\"", ""}, {"\"5 steps\"", "", ""}));
  CHECK(shown("evaluation.quiz.type", {"\"sample\"", ""}, {"\"5 steps\"", ""}));
  CHECK(shown("optimizer.type", {"\"adamw\"", "\"muon\""}, {"1", "1"}));
}

TEST_CASE("report: the best of each metric is bold on a terminal and in documents") {
  const std::string coloured = to_plain(two_runs(), {0, true});
  CHECK(coloured.find("\033[1;32m1.915\033[0m") != std::string::npos);
  CHECK(coloured.find("\033[1;32m2.500\033[0m") == std::string::npos);
  CHECK(coloured.find("\033[1;32m250\033[0m") == std::string::npos);
  CHECK(to_plain(table({reported(1, 1)}, {}), {0, true}).find("\033[1;32m") == std::string::npos);
  auto accuracy = usual_metrics({reported(1, 1), reported(2, 2)});
  accuracy.resize(1);
  accuracy[0].goal = Goal::highest;
  CHECK(to_plain(table_of(std::move(accuracy), {0, 1}), {0, true}) ==
        "best val/loss\n        1.000\n        \033[1;32m2.000\033[0m\n");
}

TEST_CASE("report: CSV, JSON, Markdown and LaTeX") {
  CHECK(to_csv(two_runs()) ==
        "run,val_loss_best,val_loss_best_step,val_loss_last,train_loss_last,optimizer.lr,step,"
        "state,seconds\n"
        "slow-00000001,1.9149,250,2.0149,,0.001,300,finished,72\n"
        "slow-00000002,2.5,250,2.6,,3e-5,300,finished,72\n");
  CHECK(to_json(two_runs()) ==
        "[\n"
        " {\"run\":\"slow-00000001\",\"val_loss_best\":1.9149,\"val_loss_best_step\":250,"
        "\"val_loss_last\":2.0149,\"train_loss_last\":null,\"optimizer.lr\":0.001,\"step\":300,"
        "\"state\":\"finished\",\"seconds\":72.0},\n"
        " {\"run\":\"slow-00000002\",\"val_loss_best\":2.5,\"val_loss_best_step\":250,"
        "\"val_loss_last\":2.6,\"train_loss_last\":null,\"optimizer.lr\":3e-05,\"step\":300,"
        "\"state\":\"finished\",\"seconds\":72.0}\n"
        "]\n");
  CHECK(to_markdown(two_runs()) ==
        "| run | best val/loss | at step | val/loss | train/loss | lr | step | state | time |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |\n"
        "| slow-00000001 | **1.915** | 250 | **2.015** |  | 0.001 | 300/300 | finished | 1m 12s |\n"
        "| slow-00000002 | 2.500 | 250 | 2.600 |  | 3e-5 | 300/300 | finished | 1m 12s |\n");
  CHECK(to_latex(two_runs()) ==
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrrrrrrlr}\n"
        "\\toprule\n"
        "run & best val/loss & at step & val/loss & train/loss & lr & step & state & time \\\\\n"
        "\\midrule\n"
        "slow-00000001 & \\textbf{1.915} & 250 & \\textbf{2.015} &  & 0.001 & 300/300 & finished & "
        "1m 12s \\\\\n"
        "slow-00000002 & 2.500 & 250 & 2.600 &  & $3 \\times 10^{-5}$ & 300/300 & finished & "
        "1m 12s \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n");
}

TEST_CASE("report: LaTeX takes no character for a command") {
  const ResultTable table{{{"a", "50 % & more_"}}, {{Cell::word("{x}~^\\#$ größe\n")}}};
  CHECK(to_latex(table).find("\n50 \\% \\& more\\_ \\\\\n\\midrule\n\\{x\\}\\textasciitilde{}"
                             "\\textasciicircum{}\\textbackslash{}\\#\\$ größe  \\\\\n") !=
        std::string::npos);
}

TEST_CASE("report: every state, NaN, no loss, and wide characters") {
  CHECK(to_plain(every_state(), {80, false}) ==
        "run            best val/loss  val/loss  train/loss     lr     step  state\n"
        "slow-00000001          1.000     1.100                  0  300/300  running\n"
        "slow-00000007          1.000     1.100              0.006  300/300  killed\n"
        "größe-日本             2.000     2.100              0.001  300/300  finished\n"
        "slow-00000008          2.000     2.100              0.007  300/300  crashed\n"
        "slow-00000003          3.000       nan              0.002   17/300  diverged\n"
        "slow-00000006          3.000     3.100              0.005  300/300  preempted\n"
        "slow-00000009          3.000     3.100              0.008  300/300  pruned\n"
        "slow-00000004                                       0.003  300/300  failed\n"
        "slow-00000005                    2.100              0.004  300/300  interrupted\n");
  const std::string csv = to_csv(every_state());
  CHECK(csv.find("slow-00000003,3,250,nan,,0.002,17,diverged,72\n") != std::string::npos);
  CHECK(csv.find("slow-00000004,,,,,0.003,300,failed,72\n") != std::string::npos);
  CHECK(to_json(every_state()).find("\"val_loss_last\":\"nan\"") != std::string::npos);
}

TEST_CASE("report: of no run there is a table without rows, of one there are no parameters") {
  CHECK(to_csv(table({}, {})) ==
        "run,val_loss_best,val_loss_best_step,val_loss_last,train_loss_last,step,state,seconds\n");
  CHECK(to_json(table({}, {})) == "[]\n");
  CHECK(lr({"0.1"}).empty());
  CHECK(parameter_columns({"optimizer.lr"}, {cells({"0.1"})}, {"optimizer.lr"}, true).size() == 1);
}

TEST_CASE("report: a setting that is not shown keeps its short name") {
  const std::string of_group = "optimizer.groups.matrices.lr";
  const auto title = [&](const std::vector<std::string>& settings) {
    auto columns = parameter_columns({of_group}, {cells({"0.1", "0.2"})}, settings, false);
    keep_different(columns, {0, 1});
    return columns.at(0).column.title;
  };
  CHECK(title({of_group}) == "lr");
  CHECK(title({of_group, "optimizer.lr"}) == "matrices.lr");
}

TEST_CASE("report: the parameters that divide the runs most come first") {
  const auto keys = [](const std::vector<ComparedColumn>& columns) {
    std::vector<std::string> keys;
    for (const ComparedColumn& column : columns) keys.push_back(column.column.key);
    return keys;
  };
  const std::vector<std::string> paths = {"dataset.path", "optimizer.betas", "model.num_layers",
                                          "optimizer.lr", "run.seed"};
  const auto columns =
      parameter_columns(paths,
                        {cells({"\"a\"", "\"b\"", "\"c\"", "\"d\""}), cells({"1", "1", "1", "2"}),
                         cells({"2", "4", "2", "4"}), cells({"1e-3", "1e-3", "3e-3", "3e-3"}),
                         cells({"0", "1", "2", "3"})},
                        paths, false);
  CHECK(keys(columns) == paths);  // as they are asked for
  CHECK(keys(by_entropy(columns)) == std::vector<std::string>{"run.seed", "optimizer.lr",
                                                              "model.num_layers", "optimizer.betas",
                                                              "dataset.path"});
  CHECK(by_entropy({}).empty());
}

TEST_CASE("report: a value that follows from others tells little") {
  const std::vector<std::string> paths = {"run.steps", "schedule.decay_until"};
  auto columns =
      parameter_columns(paths,
                        {cells({"8", "8", "9", "9"}),
                         cells({"\"8 steps\"", "\"7 steps\"", "\"9 steps\"", "\"9 steps\""})},
                        paths, false);
  CHECK(by_entropy(columns).front().column.key == "schedule.decay_until");
  columns[1].changed = {false, true, false, false};
  CHECK(by_entropy(columns).front().column.key == "run.steps");
}

TEST_CASE("report: a value is the same however its number is written") {
  CHECK(lr({"1e-3", "0.001", "0.0010"}).empty());
  CHECK(lr({"1e-3", "0.002"}).size() == 1);
  const auto missing =
      parameter_columns({"a.b"}, {{Cell::none(), Cell::integer(1)}}, {"a.b"}, false);
  CHECK(missing.size() == 1);
}

TEST_CASE("report: groups have the mean and the standard deviation of their runs") {
  std::vector<ReportedRun> runs;
  for (const double best : {1.0, 1.5, 2.0, 3.0, 5.0, 7.0}) runs.push_back(reported(1, best));
  runs[4].val_loss.reset();
  runs[3].run.state = RunState::killed;
  const auto by = lr({"0.1", "0.2", "0.1", "0.2", "0.2", "0.3"});
  const auto groups = groups_of(by, runs.size());
  CHECK(groups == std::vector<std::vector<size_t>>{{0, 2}, {1, 3, 4}, {5}});
  const auto grouped = [&](bool for_programs) {
    return table_of(columns_of_groups(runs, groups, by, usual_metrics(runs), for_programs),
                    {0, 1, 2});
  };
  CHECK(to_plain(grouped(false), {200, false}) ==
        " lr  runs    best val/loss         val/loss  train/loss  state\n"
        "0.1     2  1.50 ± 0.71 (2)  1.60 ± 0.71 (2)              finished\n"
        "0.2     3        1.500 (1)        1.600 (1)              2 of 3 finished\n"
        "0.3     1        7.000 (1)        7.100 (1)              finished\n");
  CHECK(to_plain(grouped(false), {80, false}) == to_plain(grouped(false), {200, false}));
  CHECK(to_markdown(grouped(false)) ==
        R"(| lr | runs | best val/loss | val/loss | train/loss | state |
| ---: | ---: | ---: | ---: | ---: | --- |
| 0.1 | 2 | **1.50 ± 0.71 (2)** | **1.60 ± 0.71 (2)** |  | finished |
| 0.2 | 3 | 1.500 (1) | 1.600 (1) |  | 2 of 3 finished |
| 0.3 | 1 | 7.000 (1) | 7.100 (1) |  | finished |
)");
  CHECK(to_latex(grouped(false)) ==
        R"(% \usepackage{booktabs}
\begin{tabular}{rrrrrl}
\toprule
lr & runs & best val/loss & val/loss & train/loss & state \\
\midrule
0.1 & 2 & \textbf{1.50 $\pm$ 0.71 (2)} & \textbf{1.60 $\pm$ 0.71 (2)} &  & finished \\
0.2 & 3 & 1.500 (1) & 1.600 (1) &  & 2 of 3 finished \\
0.3 & 1 & 7.000 (1) & 7.100 (1) &  & finished \\
\bottomrule
\end{tabular}
)");
  // For programs the mean, the deviation and the number are columns.
  CHECK(
      to_csv(grouped(true)) ==
      R"(optimizer.lr,runs,val_loss_best,val_loss_best_std,val_loss_best_n,val_loss_last,val_loss_last_std,val_loss_last_n,train_loss_last,train_loss_last_std,train_loss_last_n,state
0.1,2,1.5,0.7071067811865476,2,1.6,0.7071067811865476,2,,,0,finished
0.2,3,1.5,,1,1.6,,1,,,0,2 of 3 finished
0.3,1,7,,1,7.1,,1,,,0,finished
)");
  CHECK(to_json(grouped(true)) ==
        R"([
 {"optimizer.lr":0.1,"runs":2,"val_loss_best":1.5,"val_loss_best_std":0.7071067811865476,"val_loss_best_n":2,"val_loss_last":1.6,"val_loss_last_std":0.7071067811865476,"val_loss_last_n":2,"train_loss_last":null,"train_loss_last_std":null,"train_loss_last_n":0,"state":"finished"},
 {"optimizer.lr":0.2,"runs":3,"val_loss_best":1.5,"val_loss_best_std":null,"val_loss_best_n":1,"val_loss_last":1.6,"val_loss_last_std":null,"val_loss_last_n":1,"train_loss_last":null,"train_loss_last_std":null,"train_loss_last_n":0,"state":"2 of 3 finished"},
 {"optimizer.lr":0.3,"runs":1,"val_loss_best":7.0,"val_loss_best_std":null,"val_loss_best_n":1,"val_loss_last":7.1,"val_loss_last_std":null,"val_loss_last_n":1,"train_loss_last":null,"train_loss_last_std":null,"train_loss_last_n":0,"state":"finished"}
]
)");
}

TEST_CASE("report: what a group means are its finished runs, or all where none has finished") {
  std::vector<ReportedRun> runs;
  for (const double best : {1.0, 2.0, 1e12, 4.0, 6.0}) runs.push_back(reported(1, best));
  runs[2].run.state = RunState::diverged;
  runs[3].run.state = RunState::running;
  runs[4].run.state = RunState::killed;
  const auto by = lr({"0.1", "0.1", "0.1", "0.2", "0.2"});
  const auto table = table_of(
      columns_of_groups(runs, groups_of(by, runs.size()), by, usual_metrics(runs), false), {0, 1});
  CHECK(to_plain(table, {200, false}) ==
        " lr  runs    best val/loss         val/loss  train/loss  state\n"
        "0.1     3  1.50 ± 0.71 (2)  1.60 ± 0.71 (2)              2 of 3 finished\n"
        "0.2     2    5.0 ± 1.4 (2)    5.1 ± 1.4 (2)              0 of 2 finished\n");
}

TEST_CASE("report: of runs that repeat a recipe the newest that finished counts") {
  std::vector<ReportedRun> runs;
  for (const int64_t seed : {1, 2, 1, 1, 2}) {
    runs.push_back(reported(std::ssize(runs) + 1, 1));
    runs.back().run.recipe_hash = "seed " + std::to_string(seed);
    runs.back().run.started_ms = std::ssize(runs);
  }
  runs[3].run.state = RunState::killed;
  std::vector<std::vector<size_t>> groups{{0, 1, 2, 3}, {4}};
  std::vector<ComparedColumn> metrics{{{"eval", "eval", true}, {}}};
  for (const double value : {0.1, 0.2, 0.3, 0.4, 0.5})
    metrics[0].cells.push_back(Cell::number(value));
  metrics[0].cells[2] = Cell::none();
  CHECK(keep_one_of_repeats(runs, groups, metrics) == 2);
  CHECK(groups == std::vector<std::vector<size_t>>{{1, 2}, {4}});
  CHECK(metrics[0].cells[2].as_number() == 0.1);  // the killed run's is newer
  CHECK(metrics[0].cells[1].as_number() == 0.2);
  runs[2].run.data_fingerprint = "another text";
  groups = {{0, 2}};
  CHECK(keep_one_of_repeats(runs, groups, metrics) == 0);
  runs[2].run.data_fingerprint = runs[0].run.data_fingerprint;
  runs[2].run.origin = "a fork";
  CHECK(keep_one_of_repeats(runs, groups, metrics) == 0);
}

TEST_CASE("report: a sweep's point with a missing seed stands behind those that have all") {
  std::vector<ReportedRun> runs;
  for (const double best : {1.0, 1.0, 2.0, 3.0, 0.5}) runs.push_back(reported(1, best));
  for (const size_t run : {1, 4}) runs[run].run.state = RunState::killed;
  const auto by = lr({"0.1", "0.1", "0.2", "0.2", "0.3"});
  const auto groups = groups_of(by, runs.size());
  const auto columns = [&](GroupsAre groups_are) {
    return columns_of_groups(runs, groups, by, usual_metrics(runs), false, groups_are);
  };
  using Places = std::vector<size_t>;
  CHECK(columns(GroupsAre::any)[2].order(false) == Places{2, 0, 1});
  CHECK(columns(GroupsAre::points)[2].order(false) == Places{1, 0, 2});
  const auto table = table_of(columns(GroupsAre::points), {1, 0, 2});
  CHECK(table.rows[0][2].tone == Tone::best);
  CHECK(table.rows[2][2].tone != Tone::best);
}

TEST_CASE("report: mean and deviation as they are computed with all digits at hand") {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> value(0, 3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values(2 + random() % 40);
    for (double& each : values) each = value(random) * (random() % 2 ? 1 : -1);
    long double sum = 0, squares = 0;
    for (const double each : values) sum += each;
    const long double mean = sum / values.size();
    for (const double each : values) squares += (each - mean) * (each - mean);
    const auto deviation = static_cast<double>(std::sqrt(squares / (values.size() - 1)));
    const Spread spread = spread_of(values);
    CHECK(spread.count == values.size());
    CHECK(std::abs(spread.mean - static_cast<double>(mean)) <= 1e-13 * deviation);
    CHECK(std::abs(spread.deviation - deviation) <= 1e-13 * deviation);
  }
  // By hand: squares of 32 over 7.
  const Spread spread = spread_of({2, 4, 4, 4, 5, 5, 7, 9});
  CHECK(spread.mean == 5);
  CHECK(spread.deviation == doctest::Approx(2.138089935299395).epsilon(1e-15));
  CHECK(std::isnan(spread_of({1}).deviation));
  CHECK(std::isnan(spread_of({}).mean));
  CHECK(std::isnan(spread_of({1, std::nan("")}).mean));
}

TEST_CASE("report: points with fewer seeds stand after others, and those without a value last") {
  const Spread none = spread_of({});
  CHECK(ranked({none, {2, 0, 0}, {3, 0, 2}, {4, 0, 2}}, false) == std::vector<size_t>{2, 3, 1, 0});
  CHECK(ranked({none, {2, 0, 0}, {3, 0, 2}, {4, 0, 2}}, true) == std::vector<size_t>{3, 2, 1, 0});
}

TEST_CASE("report: a deviation has two significant digits, and the mean as many decimals") {
  const auto text = [](double mean, double deviation) {
    return to_string(Spread{mean, deviation, 3});
  };
  CHECK(text(1.91494, 0.00234) == "1.9149 ± 0.0023 (3)");
  CHECK(text(1.91494, 0.5) == "1.91 ± 0.50 (3)");
  CHECK(text(123.456, 12.3) == "123 ± 12 (3)");
  CHECK(text(123.456, 1234) == "123 ± 1234 (3)");
  CHECK(text(2, 0) == "2.000 ± 0 (3)");
  CHECK(text(0, 0.1) == "0.00 ± 0.10 (3)");
  CHECK(text(0.123, 0.0996) == "0.12 ± 0.10 (3)");
  CHECK(text(2.5e7, 1.5e6) == "(2.50 ± 0.15)e7 (3)");
  CHECK(text(-1.6e6, 2.5e7) == "(-0.2 ± 2.5)e7 (3)");
  CHECK(text(3e-5, 1e-6) == "(3.00 ± 0.10)e-5 (3)");
  CHECK(text(0, 1e-6) == "(0.0 ± 1.0)e-6 (3)");
  CHECK(text(1, 1e-10) == "1.00000000000 ± 0.00000000010 (3)");
  CHECK(text(1, 1e-20) == "1.000 ± 1.000e-20 (3)");
  CHECK(text(1e308, 1e308) == "(1.0 ± 1.0)e308 (3)");
  CHECK(text(1e-300, 1e-300) == "(1.0 ± 1.0)e-300 (3)");
  CHECK(text(std::nan(""), std::nan("")) == "nan ± nan (3)");
  CHECK(to_string(Spread{2, std::nan(""), 1}) == "2.000 (1)");
  CHECK(to_string(Spread{}) == "");
}

TEST_CASE("report: LaTeX has one notation for powers of ten, of a mean too") {
  const auto latex = [](const Spread& spread) {
    const std::string text =
        to_latex(ResultTable{{{"a", "a", true}}, {{Cell::number(spread.mean, to_string(spread))}}});
    const size_t begin = text.find("\\midrule\n") + 9;
    return text.substr(begin, text.find(" \\\\\n", begin) - begin);
  };
  CHECK(latex({1.24e8, 3.1e7, 3}) == "$(1.24 \\pm 0.31) \\times 10^{8}$ (3)");
  CHECK(latex({3e-5, 0, 1}) == "$3.000 \\times 10^{-5}$ (1)");
  CHECK(latex({1.5, 0.5, 2}) == "1.50 $\\pm$ 0.50 (2)");
}

TEST_CASE("report: a curve in one line") {
  CHECK(sparkline({7, 6, 5, 4, 3, 2, 1, 0}) == "█▇▆▅▄▃▂▁");
  CHECK(sparkline({1, std::nan(""), 2, INFINITY}) == "▁×█×");
  CHECK(sparkline({5}) == "▄");
  CHECK(sparkline({5, 5}) == "▄▄");
  CHECK(sparkline({-1.7e308, 1.7e308}) == "▁█");
  CHECK(sparkline({std::nan("")}) == "×");
  CHECK(sparkline({}) == "");
}

TEST_CASE(
    "report: accuracies and rates are better when they are higher, losses when they are low") {
  CHECK(goal_of("val/loss") == Goal::lowest);
  CHECK(goal_of("val/perplexity") == Goal::lowest);
  CHECK(goal_of("hellaswag/acc_norm") == Goal::highest);
  CHECK(goal_of("throughput/tokens_per_second") == Goal::highest);
  for (const char* setting : {"lr", "grad_norm", "train/grad_norm", "system/load"})
    CHECK(goal_of(setting) == Goal::none);
  // A recorded goal is believed before a name.
  CHECK(goal_of("mine/quality", best_value_of("mine/quality", true)) == Goal::highest);
  CHECK(goal_of("odd/acc", best_value_of("odd/acc", false)) == Goal::lowest);
}

TEST_CASE("report: the usual metrics are those of the recipes' or the sweep's metric") {
  std::vector<ReportedRun> runs = {reported(1, 1.5), reported(2, 2.5)};
  SeriesRow accuracy = losses(0.5, 0.25, 0);
  accuracy.max = 0.75;
  accuracy.max_step = 200;
  const auto text = [&](const Criterion& criterion) {
    return to_plain(table_of(usual_metrics(runs, criterion, {accuracy, std::nullopt}), {0, 1}), {});
  };
  Criterion criterion = best_value_of("hellaswag/acc", true);
  CHECK(text(criterion) ==
        "best hellaswag/acc  at step  hellaswag/acc  val/loss  train/loss\n"
        "            0.7500      200         0.5000     1.600\n"
        "                                               2.600\n");
  criterion.value = ValueName::Which::min;  // as a sweep with --summary min compares
  CHECK(text(criterion).starts_with("lowest hellaswag/acc  at step"));
  criterion.value = ValueName::Which::last;
  CHECK(
      text(criterion).starts_with("hellaswag/acc  val/loss  train/loss\n       0.5000     1.600"));
}

TEST_CASE("report: a column that ls has too has the same header") {
  for (const Column& column : two_runs().columns)
    for (const Column& listed : ls_table({}, 0).columns)
      if (column.key == listed.key) CHECK(column.title == listed.title);
}
