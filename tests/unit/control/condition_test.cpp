// --where: conditions, and the values of runs that they ask for.
#include "control/report/condition.h"

#include <doctest/doctest.h>

#include <cmath>

#include "control/command/stored_runs.h"
#include "store/metrics/metric_writer.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

void create(Store& store, const std::string& name, std::vector<ParameterRow> parameters,
            const std::vector<double>& losses) {
  NewRun run;
  run.uid = std::string(32, name[0]);
  run.name = name;
  run.folder = name;
  run.parameters = std::move(parameters);
  const int64_t id = store.create_run(run);
  MetricWriter writer(store.file(), id);
  const auto series = writer.series("val/loss", false);
  for (size_t i = 0; i < losses.size(); ++i) {
    const MetricWriter::Point point{series, losses[i]};
    writer.push(static_cast<int64_t>(i) + 1, {&point, 1});
  }
  writer.flush();
  store.end_attempt(id, RunState::finished, 0, std::nullopt, "");
}

// Three runs, of which one diverged and one has no loss.
struct Scene {
  Scene() {
    create(store, "a",
           {{"optimizer.lr", "0.001"},
            {"optimizer.type", "\"muon\""},
            {"checkpoint.every", "\"5 steps\""},
            {"metrics.every", "\"1 steps\""}},
           {3.5, 2.5, 3.0});
    create(store, "b", {{"optimizer.lr", "1e-2"}, {"optimizer.type", "\"adamw\""}},
           {3.0, std::nan("")});
    create(store, "c", {{"optimizer.lr", "0.1"}, {"model.bias", "true"}}, {});
  }

  std::string kept(const std::vector<std::string>& conditions) const {
    auto runs = all_runs(store, folder, store.runs());
    Where{conditions}.keep_matching(store, runs);
    std::string names;
    for (const ReportedRun& run : runs) names = run.run.name + names;  // the oldest first
    return names;
  }

  TemporaryFolder temporary;
  StoreFolder folder{temporary.path(), "runs"};
  Store store{folder.database(), Store::Access::read_write};
};

}  // namespace

TEST_CASE("where: parameters are compared as numbers or as words, by path or short key") {
  const Scene scene;
  CHECK(scene.kept({}) == "abc");
  CHECK(scene.kept({"lr>1e-3"}) == "bc");
  CHECK(scene.kept({"optimizer.lr >= 1e-3"}) == "abc");
  CHECK(scene.kept({"lr=0.01"}) == "b");
  CHECK(scene.kept({"optimizer.type=muon"}) == "a");
  CHECK(scene.kept({"optimizer.type!=muon"}) == "b");  // the third has none
  CHECK(scene.kept({"bias=true"}) == "c");
  CHECK(scene.kept({"lr>1e-3", "lr<0.1"}) == "b");
  CHECK(scene.kept({"checkpoint.every=5 steps"}) == "a");
}

TEST_CASE("where: words that look like numbers, great numbers, empty texts and arrays") {
  Scene scene;
  create(scene.store, "2024",
         {{"run.note", "\"\""},
          {"dataset.key", "9007199254740993"},
          {"optimizer.betas", "[0.9, 0.95]"},
          {"dataset.weights", "[1.0, 2.0]"}},
         {});
  CHECK(scene.kept({"name=2024"}) == "2024");
  CHECK(scene.kept({"name!=2024"}) == "abc");
  CHECK(scene.kept({"key=9007199254740993"}) == "2024");
  CHECK(scene.kept({"key=9007199254740992"}) == "");
  CHECK(scene.kept({"key>9007199254740992"}) == "2024");
  CHECK(scene.kept({"note="}) == "2024");
  CHECK(scene.kept({"note=\"\""}) == "2024");
  CHECK(scene.kept({"note!="}) == "");
  CHECK(scene.kept({"betas=[0.9,0.95]"}) == "2024");
  CHECK(scene.kept({"weights=[ 1,2 ]"}) == "2024");
  CHECK(scene.kept({"weights=[2, 1]"}) == "");
}

TEST_CASE("where: a key is one of the whole store, and is looked at when no run is left") {
  const Scene scene;
  std::vector<ReportedRun> none;
  Where{{"bias=true", "val/loss<1"}}.keep_matching(scene.store, none);
  CHECK(refusal(ExitCode::bad_recipe, [&] { Where{{"l_r>1"}}.keep_matching(scene.store, none); }) ==
        "command line: --where 'l_r>1': no run has a parameter or series 'l_r', and ls no such "
        "column; did you mean 'lr'?");
}

TEST_CASE("where: series by their last, lowest and highest value, and columns of ls") {
  const Scene scene;
  CHECK(scene.kept({"val/loss<=3"}) == "a");
  CHECK(scene.kept({"val/loss=nan"}) == "b");
  CHECK(scene.kept({"val/loss.min<3"}) == "a");
  CHECK(scene.kept({"val/loss.max<3.2"}) == "b");
  CHECK(scene.kept({"val_loss_best<2.6"}) == "a");
  CHECK(scene.kept({"step>2"}) == "a");
  CHECK(scene.kept({"best val loss<2.6"}) == "a");
  CHECK(scene.kept({"time>=0", "started>0"}) == "abc");
  CHECK(scene.kept({"time>1.5"}) == "");
  CHECK(scene.kept({"state=finished", "name!=a"}) == "bc");
  CHECK(scene.kept({"state=crashed"}) == "");
}

TEST_CASE("where: a parameter wins over a series of its name, which is last(lr)") {
  Scene scene;
  for (const RunRow& run : scene.store.runs()) {
    MetricWriter writer(scene.store.file(), run.id);
    const MetricWriter::Point point{writer.series("lr", false), 7.0};
    writer.push(1, {&point, 1});
    const MetricWriter::Point other{writer.series("every", false), 1.0};
    writer.push(1, {&other, 1});
    writer.flush();
  }
  CHECK(scene.kept({"lr=0.01"}) == "b");
  CHECK(scene.kept({"lr=7"}) == "");
  CHECK(scene.kept({"last(lr)=7"}) == "abc");
  CHECK(scene.kept({"lr.max=7"}) == "abc");
  CHECK(refusal(ExitCode::bad_recipe, [&] { scene.kept({"every=5"}); }) ==
        "command line: --where 'every=5': 'every' names several parameters and a series: write "
        "checkpoint.every, metrics.every or last(every)");
}

TEST_CASE("where: a short key is that of no group and no evaluation") {
  Scene scene;
  create(scene.store, "d",
         {{"optimizer.groups.all.lr", "0.5"},
          {"optimizer.lr", "0.2"},
          {"evaluation.sample.every", "\"9 steps\""}},
         {});
  CHECK(scene.kept({"lr>0.05"}) == "cd");
  CHECK(scene.kept({"groups.all.lr=0.5"}) == "d");
}

TEST_CASE("where: what is wrong with a condition is said") {
  const Scene scene;
  const auto said = [&](const std::string& condition) {
    return refusal(ExitCode::bad_recipe, [&] { scene.kept({condition}); });
  };
  const std::string form = "write KEY=VALUE, with one of = != < <= > >=, as in lr>1e-4";
  CHECK(said("lr") == "command line: --where 'lr': " + form);
  CHECK(said("lr=>1") == "command line: --where 'lr=>1': " + form);
  CHECK(said("=1") == "command line: --where '=1': " + form);
  CHECK(said("lr<") == "command line: --where 'lr<': " + form);
  CHECK(said("state<b") == "command line: --where 'state<b': < compares numbers, and 'b' is none");
  CHECK(said("seed=0;drop table run") ==
        "command line: --where 'seed=0;drop table run': seed is a number, and '0;drop table run' "
        "is none");
  CHECK(said("time!=") == "command line: --where 'time!=': time is a number, and '' is none");
  CHECK(said("val/loss.min=low") ==
        "command line: --where 'val/loss.min=low': val/loss.min is a number, and 'low' is none");
  CHECK(said("l_r>1") ==
        "command line: --where 'l_r>1': no run has a parameter or series 'l_r', and ls no such "
        "column; did you mean 'lr'?");
  CHECK(said("tmie>1") ==
        "command line: --where 'tmie>1': no run has a parameter or series 'tmie', and ls no such "
        "column; did you mean 'time'?");
  CHECK(said("val_loss<3") ==
        "command line: --where 'val_loss<3': no run has a parameter or series 'val_loss', and ls "
        "no such column; did you mean 'val/loss'?");
  CHECK(said("every=5") ==
        "command line: --where 'every=5': 'every' names several parameters: write "
        "checkpoint.every or metrics.every");
  CHECK(said("lr>1e-5 and lr<1") ==
        "command line: --where 'lr>1e-5 and lr<1': give --where once for each condition");
  CHECK(said("state=finishd") ==
        "command line: --where 'state=finishd': there is no state 'finishd' (running, finished, "
        "diverged, failed, interrupted, preempted, killed, crashed, pruned)");
  CHECK(said("tags=a") == "command line: --where 'tags=a': --tag WORD is how a tag is asked for");
}
