#include "recipe/sweep/sweep_space.h"

#include <doctest/doctest.h>

#include "recipe/sweep/sweep_table.h"
#include "recipes.h"

using namespace exprun;

namespace {

using Strings = std::vector<std::string>;

Strings values(const std::string& argument) {
  const auto axes = parse_axes({argument});
  REQUIRE(axes.size() == 1);
  Strings texts;
  for (const SweepPoint& value : axes[0].values)
    texts.push_back(value.front().override.substr(axes[0].key.size() + 1));
  return texts;
}

std::vector<Strings> grid(const std::vector<SweepAxis>& axes) {
  std::vector<Strings> points;
  for (const SweepPoint& point : expand_grid(axes)) {
    points.emplace_back();
    for (const SweepChange& change : point) points.back().push_back(change.override);
  }
  return points;
}

}  // namespace

TEST_CASE("sweep: lists, and commas that are none") {
  CHECK(values("lr=1e-4,3e-4, 1e-3") == Strings{"1e-4", "3e-4", "1e-3"});
  CHECK(values("lr=1e-4") == Strings{"1e-4"});
  CHECK(values("order=choice(sequential,random_offsets)") ==
        Strings{"sequential", "random_offsets"});
  CHECK(values("prompt=choice(\"a)\", b) ") == Strings{"\"a)\"", "b"});
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

TEST_CASE("sweep: the [sweep] table of a recipe") {
  const std::string text = kTinyRecipe +
                           "[sweep]\ngoal = \"maximize\"\n[sweep.axes]\n\"optimizer.lr\" = "
                           "\"1e-4,1e-3\"\nnum_layers = [1, 2]\norder = [\"sequential\"]\n";
  const auto sweep = read_sweep(recipe_text(text));
  REQUIRE(sweep);
  CHECK(sweep->search.method == "grid");
  CHECK(sweep->metric == "val/loss");
  CHECK(sweep->goal == "maximize");
  CHECK(expand_grid(sweep->axes).size() == 4);
  for (Strings point : grid(sweep->axes)) {
    point.push_back("~sweep");
    CHECK(resolve(recipe_text(text, point)).hash() != resolve_tiny().hash());
  }
  CHECK_FALSE(read_sweep(recipe_text(kTinyRecipe)));
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
  CHECK(error_of_sweep(axes + "metric = \"nope/x\"\n") != "");
  const std::string none = "[metrics]\nval_loss = false\n";
  CHECK(error_of_sweep(none + axes) != "");
  CHECK(error_of_sweep(none + "[sweep]\naxes.\"metrics.val_loss\" = [true]\n").empty());
}
