#include "recipe/sweep/sweep_space.h"

#include <doctest/doctest.h>

#include "recipes.h"

using namespace exprun;

namespace {

using Strings = std::vector<std::string>;

Strings texts_of(const std::vector<SweepValue>& values) {
  Strings texts;
  for (const SweepValue& value : values) texts.push_back(value.text);
  return texts;
}

Strings values(const std::string& argument) {
  const auto axes = parse_axes({argument});
  REQUIRE(axes.size() == 1);
  return texts_of(axes[0].values);
}

std::vector<Strings> grid(const std::vector<SweepAxis>& axes) {
  std::vector<Strings> points;
  for (const SweepPoint& point : expand_grid(axes)) {
    points.emplace_back();
    for (const SweepChange& change : point) points.back().push_back(change.override);
  }
  return points;
}

std::string message(const Strings& arguments) {
  try {
    parse_axes(arguments);
    return "";
  } catch (const RecipeError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("sweep: lists, and commas that are none") {
  CHECK(values("lr=1e-4,3e-4, 1e-3") == Strings{"1e-4", "3e-4", "1e-3"});
  CHECK(values("lr=1e-4") == Strings{"1e-4"});
  CHECK(values("order=choice(sequential,random_offsets)") ==
        Strings{"sequential", "random_offsets"});
  CHECK(values("betas=[0.9, 0.95],[0.8, 0.99]") == Strings{"[0.9, 0.95]", "[0.8, 0.99]"});
  CHECK(values("prompt=\"a, b\",'c,d'") == Strings{"\"a, b\"", "'c,d'"});
  CHECK(values("prompt=\"a\\\", b\"") == Strings{"\"a\\\", b\""});
  CHECK(values("warmup=5 steps,10 steps") == Strings{"5 steps", "10 steps"});
}

TEST_CASE("sweep: ranges, without their stop") {
  CHECK(values("seed=range(3)") == Strings{"0", "1", "2"});
  CHECK(values("seed=range(1,8,3)") == Strings{"1", "4", "7"});
  CHECK(values("seed=range(3,0,-1)") == Strings{"3", "2", "1"});
  CHECK(values("dropout=range(0,0.5,0.1)") == Strings{"0", "0.1", "0.2", "0.3", "0.4"});
}

TEST_CASE("sweep: the grid, last axis fastest") {
  CHECK(grid(parse_axes({"lr=1,2", "~warmup", "seed=range(2)"})) ==
        std::vector<Strings>{{"lr=1", "~warmup", "seed=0"},
                             {"lr=1", "~warmup", "seed=1"},
                             {"lr=2", "~warmup", "seed=0"},
                             {"lr=2", "~warmup", "seed=1"}});
  CHECK(grid({}) == std::vector<Strings>{{}});
}

TEST_CASE("sweep: mistakes point into the argument") {
  CHECK(message({"seed=1,2", "lr=range(5,1)"}) ==
        "<override 2>:1:4: error: the range is empty\n"
        "    lr=range(5,1)\n"
        "       ^^^^^^^^^^ it ends before its stop; is it reversed?\n");
  CHECK(message({"lr=range(a)"}) ==
        "<override 1>:1:4: error: a range has one to three numbers\n"
        "    lr=range(a)\n"
        "       ^^^^^^^^ range(stop), range(start,stop) or range(start,stop,step)\n");
  CHECK(message({"lr=range(0,1,0)"}).find("the range is empty") != std::string::npos);
  CHECK(message({"lr=range(1000000)"}).find("more than 100,000 values") != std::string::npos);
  CHECK(message({"lr=1,,2"}).find("a value is missing beside a comma") != std::string::npos);
  CHECK(message({"lr=1,2", "lr=3"}).find("<override 2>:1:1: error: 'lr' is given twice") == 0);
  CHECK(message({"lr"}).find("<override 1>:1:1: error: this is no axis") == 0);
  CHECK(message({"=3"}).find("<override 1>:1:1: error: this is no axis") == 0);
}

TEST_CASE("sweep: the [sweep] table of a recipe") {
  const std::string text = kTinyRecipe +
                           "[sweep]\ngoal = \"maximize\"\n[sweep.axes]\n\"optimizer.lr\" = "
                           "\"1e-4,1e-3\"\nnum_layers = [1, 2]\norder = [\"sequential\"]\n";
  const auto sweep = read_sweep(recipe_text(text));
  REQUIRE(sweep);
  CHECK(sweep->method == "grid");
  CHECK(sweep->metric == "val/loss");
  CHECK(sweep->goal == "maximize");
  CHECK(expand_grid(sweep->axes).size() == 4);
  for (Strings point : grid(sweep->axes)) {
    point.push_back("~sweep");
    CHECK(resolve(recipe_text(text, point)).hash() != resolve_tiny().hash());
  }
  CHECK_FALSE(read_sweep(recipe_text(kTinyRecipe)));
}

TEST_CASE("sweep: mistakes in the [sweep] table") {
  const auto error = [](const std::string& table) {
    try {
      read_sweep(recipe_text(kTinyRecipe + table));
      return std::string();
    } catch (const RecipeError& error) {
      return std::string(error.what());
    }
  };
  CHECK(error("[sweep.axes]\noptimizer.lr = [1, 2]\n[sweep]\nmetod = \"grid\"\n") ==
        "recipes/tiny.toml:22:1: error: 'optimizer' must be a string or an array, got a table\n"
        "    optimizer.lr = [1, 2]\n"
        "    ^^^^^^^^^ write \"optimizer.lr\" = [...]\n"
        "recipes/tiny.toml:24:1: error: unknown key 'metod' in [sweep]\n"
        "    metod = \"grid\"\n"
        "    ^^^^^ did you mean 'method'?\n");
  CHECK(error("[sweep]\n").find("[sweep] needs 'axes'") != std::string::npos);
  CHECK(error("[sweep.axes]\nlr = []\n").find("22:6: error: 'lr' has no values") !=
        std::string::npos);
  CHECK(error("[sweep.axes]\nlr = \"range(2,1)\"\n").find("22:6: error: the range is empty") !=
        std::string::npos);
  CHECK(error("[[sweep]]\nmethod = \"grid\"\n") ==
        "recipes/tiny.toml:21:1: error: 'sweep' must be a table, got an array\n"
        "    [[sweep]]\n"
        "    ^^^^^^^^^ its keys stand below [sweep]\n");
  CHECK(error("[sweep]\naxes = 3\n").find("'axes' must be a table, got an integer") !=
        std::string::npos);
}

TEST_CASE("sweep: more trials than anybody means are refused before they are made") {
  const auto axes = parse_axes({"seed=range(1000)", "lr=1,2", "steps=range(1,1001)"});
  CHECK_THROWS_WITH_AS(expand_grid(axes),
                       "<override 3>:1:1: error: the axes up to 'steps' make 2,000,000 trials\n"
                       "    steps=range(1,1001)\n"
                       "    ^^^^^ a sweep has at most 100,000\n",
                       RecipeError);
}

namespace {

std::string error_of_sweep(const std::string& tables) {
  try {
    read_sweep(recipe_text(kTinyRecipe + tables));
    return "";
  } catch (const RecipeError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("sweep: trials are compared by a series that they record") {
  const std::string axes = "[sweep]\naxes.lr = [0.1, 0.2]\n";
  CHECK(error_of_sweep(axes).empty());
  CHECK(error_of_sweep(axes + "metric = \"train/loss\"\n").empty());
  CHECK(error_of_sweep(axes + "metric = \"system/rss\"\n").empty());
  CHECK(error_of_sweep(axes + "metric = \"nope/x\"\n") ==
        "recipes/tiny.toml:23:10: error: no trial records 'nope/x'\n"
        "    metric = \"nope/x\"\n"
        "             ^^^^^^^^ measured is val/loss\n");
  const std::string none = "[metrics]\nval_loss = false\n";
  CHECK(error_of_sweep(none + axes) ==
        "recipes/tiny.toml:23:2: error: no trial records 'val/loss'\n"
        "    [sweep]\n"
        "     ^^^^^ an evaluation such as [evaluation.val_loss] measures one\n");
  CHECK(error_of_sweep(none + "[sweep]\naxes.\"metrics.val_loss\" = [true]\n").empty());
}
