// --where: expressions, and the values of runs that they ask for.
#include "control/command/stored/run_values.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "base/clock.h"
#include "base/format_units.h"
#include "control/command/stored/stored_runs.h"
#include "store/metrics/metric_writer.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

// What is said of a mistake in an expression; "" if there is none.
std::string mistake(const std::function<void()>& body) {
  try {
    body();
  } catch (const RecipeError& error) {
    return error.what();
  }
  return "";
}

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
  CHECK(scene.kept({"note=\"\""}) == "2024");
  CHECK(scene.kept({"note!=\"\""}) == "");
  CHECK(scene.kept({"betas=[0.9,0.95]"}) == "2024");
  CHECK(scene.kept({"weights=[ 1,2 ]"}) == "2024");
  CHECK(scene.kept({"weights=[2, 1]"}) == "");
  CHECK(scene.kept({"betas in [[0.5, 0.5], [0.9, 0.95]]"}) == "2024");
  CHECK(scene.kept({"name in ['2024', a]"}) == "a2024");
  CHECK(scene.kept({"key < 9007199254740994"}) == "2024");
}

TEST_CASE("where: a key is one of the whole store, and is looked at when no run is left") {
  const Scene scene;
  std::vector<ReportedRun> none;
  Where{{"bias=true", "val/loss<1"}}.keep_matching(scene.store, none);
  CHECK(mistake([&] { Where{{"l_r>1"}}.keep_matching(scene.store, none); }) ==
        "--where:1:1: error: there is no setting, series or ls column 'l_r'\n"
        "    l_r>1\n"
        "    ^^^ did you mean 'lr'?\n");
}

TEST_CASE("where: a key that a recipe may have, and no run's has, is no mistake") {
  const Scene scene;
  CHECK(scene.kept({"optimizer.momentum > 0.5"}) == "");
  CHECK(scene.kept({"momentum > 0.5"}) == "");
  CHECK(scene.kept({"not has(momentum) and lr < 0.1"}) == "ab");
  CHECK(scene.kept({"evaluation.perplexity.path = a.txt"}) == "");
}

TEST_CASE("where: series by their last, lowest and highest value, and columns of ls") {
  const Scene scene;
  CHECK(scene.kept({"val/loss<=3"}) == "a");
  CHECK(scene.kept({"val/loss=nan"}) == "b");
  CHECK(scene.kept({"val/loss:min<3"}) == "a");
  CHECK(scene.kept({"val/loss:max<3.2"}) == "b");
  CHECK(scene.kept({"val_loss_best<2.6"}) == "a");
  CHECK(scene.kept({"step>2"}) == "a");
  CHECK(scene.kept({"best val loss<2.6"}) == "a");
  CHECK(scene.kept({"time>=0", "started>0"}) == "abc");
  CHECK(scene.kept({"time>1.5"}) == "");
  CHECK(scene.kept({"state=finished", "name!=a"}) == "bc");
  CHECK(scene.kept({"state=crashed"}) == "");
  CHECK(scene.kept({"min(val/loss) < 3 or max(val/loss) < 3.2"}) == "ab");
  CHECK(scene.kept({"at(val/loss, 1) == 3.5"}) == "a");
  CHECK(scene.kept({"at(val/loss, 2) = nan"}) == "b");
  CHECK(scene.kept({"at(val/loss, 9) < 99"}) == "");
  CHECK(scene.kept({"last(val/loss) > min(val/loss)"}) == "a");
  CHECK(scene.kept({"last(val/loss) = max(val/loss)"}) == "");
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
  CHECK(scene.kept({"lr:max=7"}) == "abc");
  CHECK(mistake([&] { scene.kept({"every=5"}); }) ==
        "--where:1:1: error: 'every' names several settings and a series\n"
        "    every=5\n"
        "    ^^^^^ write checkpoint.every, metrics.every or last(every)\n");
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

TEST_CASE("where: when a run began is compared with dates, whole ones, and with milliseconds") {
  const Scene scene;
  CHECK(scene.kept({"started > 2024"}) == "abc");
  CHECK(scene.kept({"started < 2024-06"}) == "");
  CHECK(scene.kept({"started > 2999-12-31T23:59"}) == "");
  std::string now = utc_time(now_ms());
  CHECK(scene.kept({"started <= '" + now + "' and started_ms >= " + now.substr(0, 10)}) == "abc");
  CHECK(scene.kept({"started in [1999-01-01, " + now.substr(0, 4) + "]"}) == "abc");
  CHECK(scene.kept({"started > " + now.substr(0, 4)}) == "");
  CHECK(scene.kept({"started > " + std::to_string(now_ms() - 3'600'000)}) == "abc");
  CHECK(mistake([&] { scene.kept({"started > 2026-13-01"}); }) ==
        "--where:1:11: error: started is a time, but '2026-13-01' is not\n"
        "    started > 2026-13-01\n"
        "              ^^^^^^^^^^ write a date in UTC, as in 2026-11-01 or 2026-11-01T14:30, or "
        "milliseconds since 1970\n");
}

TEST_CASE("where: and, or, not, brackets, lists, patterns, tags and whether there is a value") {
  Scene scene;
  scene.store.add_tag(scene.store.find_run("a").id, "ablation");
  scene.store.add_tag(scene.store.find_run("c").id, "two words");
  CHECK(scene.kept({"lr < 1e-2 or lr > 1e-2 and type = muon"}) == "a");
  CHECK(scene.kept({"(lr<1e-2 or lr>1e-2) and bias=true"}) == "c");
  CHECK(scene.kept({"not lr<1e-2"}) == "bc");
  CHECK(scene.kept({"not not not (lr<1e-2 AND NOT has(bias))"}) == "bc");
  CHECK(scene.kept({"tag(\"ablation\")"}) == "a");
  CHECK(scene.kept({"tag(ablation) or tag(two words)"}) == "ac");
  CHECK(scene.kept({"has(val/loss)"}) == "ab");
  CHECK(scene.kept({"has(\"val/loss\") and not has(checkpoint.every)"}) == "b");
  CHECK(scene.kept({"lr in [1e-2, 0.1]"}) == "bc");
  CHECK(scene.kept({"lr not in [1e-2, 0.1]"}) == "a");
  CHECK(scene.kept({"type in [muon, \"adamw\"]"}) == "ab");
  CHECK(scene.kept({"type in []"}) == "");
  CHECK(scene.kept({"type ~ mu*"}) == "a");
  CHECK(scene.kept({"not type ~ '?uon'"}) == "bc");
  CHECK(scene.kept({"lr ~ '0.0*'"}) == "ab");
  CHECK(scene.kept({"type ~ *a*d*w"}) == "b");
  CHECK(scene.kept({"type ~ *u*n*w"}) == "");
  CHECK(scene.kept({"name ~ ? and type ~ m***n"}) == "a");
  CHECK(scene.kept({"type ~ muon?"}) == "");
  CHECK(scene.kept({"started > 1M and started > 1e3"}) == "abc");
}

TEST_CASE("where: what is wrong with an expression is shown in it") {
  const Scene scene;
  const auto said = [&](const std::string& expression) {
    return mistake([&] { scene.kept({expression}); });
  };
  // The whole text, with `length` carets from `column` on.
  const auto check = [&](const std::string& expression, size_t column, size_t length,
                         const std::string& message, const std::string& help) {
    CHECK(said(expression) == "--where:1:" + std::to_string(column) + ": error: " + message +
                                  "\n    " + expression + "\n    " + std::string(column - 1, ' ') +
                                  std::string(length, '^') + (help.empty() ? "" : " " + help) +
                                  "\n");
  };
  const std::string compare = "compare it with = != < <= > >= ~ or in, as in lr>1e-4";
  const std::string no_name = "there is no setting, series or ls column '";
  check("lr", 1, 2, "this is not a condition", compare);
  check("lr>1 and lr", 10, 2, "this is not a condition", compare);
  check("lr=>1", 3, 2, "there is no '=>'", "write >=");
  check("lr<1 && lr>0", 6, 2, "there is no '&&'", "write and");
  check("!has(lr)", 1, 1, "there is no '!'", "write not");
  check("=1", 1, 1, "expected a name, as in lr or val/loss, but found '='", "");
  CHECK(said("") ==
        "--where:1:1: error: expected a name, as in lr or val/loss, but the condition ends here\n");
  check("lr<", 4, 1, "expected a value, but the condition ends here",
        "an empty text is written \"\"");
  check("state<b", 7, 1, "there is no state 'b'",
        "there are running, finished, diverged, failed, interrupted, preempted, killed, crashed, "
        "pruned, finished early and unknown");
  check("name<b", 6, 1, "< compares numbers, but 'b' is not a number", "use = or ~");
  check("state>finished", 1, 5, "> compares numbers, but state is a text, such as 'finished'",
        "use = or ~");
  check("bias>0", 1, 4, "> compares numbers, but bias is a boolean, such as 'true'", "use = or ~");
  check("betas>0.5", 1, 5, "> compares numbers, but betas is a list", "use = or ~");
  CHECK(said("expect_initial_loss>5") == "");  // a number in another run
  check("seed=0;drop table run", 7, 1, "unexpected ';'",
        "put a text that has such characters in quotes");
  check("seed=zero", 6, 4, "seed is a number, but 'zero' is not", "");
  check("seed in [1, one]", 13, 3, "seed is a number, but 'one' is not", "");
  check("min(val/loss)=low", 15, 3, "min(val/loss) is a number, but 'low' is not", "");
  check("lr<1 and (l_r>1)", 11, 3, no_name + "l_r'", "did you mean 'lr'?");
  check("tmie>1", 1, 4, no_name + "tmie'", "did you mean 'time'?");
  check("val_los<3", 1, 7, no_name + "val_los'", "did you mean 'val/loss'?");
  check("1e-3<lr", 1, 4, no_name + "1e-3'",
        "write the name to the left of the operator, as in lr>1e-4");
  check("min(val/los)<3", 1, 12, "no run has a series 'val/los'", "did you mean 'val/loss'?");
  check("optimizer = adamw", 1, 9, no_name + "optimizer'", "did you mean 'optimizer.type'?");
  check("lr<1 and mim(val/loss)<3", 10, 3, "there is no function 'mim'", "did you mean 'min'?");
  check("lr = tag(a)", 6, 3, "'tag' has no value here",
        "it is a condition of its own, as in tag(\"ablation\")");
  check("at(val/loss)<3", 12, 1, "expected ',', but found ')'",
        "at takes a series and a step, as in at(val/loss, 100)");
  check("at(val/loss, 1.5)<3", 14, 3, "a step is a whole number", "as in at(val/loss, 100)");
  check("every=5", 1, 5, "'every' names several settings",
        "write checkpoint.every or metrics.every");
  check("lr>1e-5 lr<1", 11, 1, "unexpected '<' after a whole condition",
        "write 'and' or 'or' between two conditions");
  check("lr>1e-5 (lr<1)", 9, 1, "unexpected '('", "write 'and' or 'or' before it");
  check("(lr<1", 6, 1, "expected ')', but the condition ends here", "close the bracket");
  check("lr<1)", 5, 1, "this ')' closes nothing", "leave it out");
  check("lr in 1, 2", 7, 1, "expected '[', but found '1'", "as in lr in [1e-3, 3e-3]");
  check("type = \"muon", 8, 5, "this text has no closing quote", "end it with \"");
  check("state=finishd", 7, 7, "there is no state 'finishd'", "did you mean 'finished'?");
  check("tags=a", 1, 4, "a run may have several tags", "write tag(\"WORD\")");
  for (const std::string& deep : {std::string(1000, '('), "x in " + std::string(1000, '[')})
    CHECK(said(deep).find("brackets are nested more than 100 levels deep") != std::string::npos);
}
