#include "recipe/sweep/sweep_space.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "recipe/sweep/sweep_table.h"
#include "recipes.h"

using namespace exprun;

namespace {

using Strings = std::vector<std::string>;

std::vector<SweepAxis> sound_axes(const Strings& arguments) {
  Diagnostics mistakes;
  auto axes = parse_axes(arguments, mistakes);
  CHECK(render(mistakes) == "");
  return axes;
}

Strings values(const std::string& argument) {
  const auto axes = sound_axes({argument});
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
  CHECK(grid(sound_axes({"lr=1,2", "~warmup", "seed=range(2)"})) ==
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
  CHECK(sweep->metric.empty());
  CHECK(sweep->goal == "maximize");
  CHECK(expand_grid(sweep->axes).size() == 4);
  for (Strings point : grid(sweep->axes)) {
    point.push_back("~sweep");
    CHECK(resolve(recipe_text(text, point)).hash() != resolve_tiny().hash());
  }
  CHECK_FALSE(read_sweep(recipe_text(kTinyRecipe)));
}

TEST_CASE("sweep: of very many values the first and the last are taken one at a time") {
  const auto points = one_at_a_time(sound_axes({"seed=range(5000)", "lr=1,2"}));
  REQUIRE(points.size() == 1000 + 2);
  CHECK(points[499][0].override == "seed=499");
  CHECK(points[500][0].override == "seed=4500");
  CHECK(points[1001][1].override == "lr=2");
}

TEST_CASE(
    "sweep: few points of a random search cover each axis evenly, and more come behind them") {
  std::vector<std::string> arguments{"layers=2,4", "seed=1"};
  for (const char* name : {"a", "b", "c", "d", "e"})
    arguments.push_back(std::string(name) + "=interval(0,1)");
  const auto axes = sound_axes(arguments);
  const auto value = [](const SweepChange& change) {
    return std::stod(change.override.substr(change.override.find('=') + 1));
  };
  for (int64_t seed = 0; seed < 20; ++seed) {
    const auto points = draw_points(axes, 16, seed);
    for (size_t axis = 2; axis < 7; ++axis) {
      std::set<int> sixteenths;
      for (const SweepPoint& point : points)
        sixteenths.insert(static_cast<int>(value(point[axis]) * 16));
      CHECK(sixteenths.size() == 16);
    }
    const auto deep = std::count_if(points.begin(), points.end(),
                                    [&](const SweepPoint& point) { return value(point[0]) == 4; });
    CHECK(deep == 8);
    const auto fewer = draw_points(axes, 5, seed);
    for (size_t i = 0; i < fewer.size(); ++i)
      CHECK(fewer[i].back().override == points[i].back().override);
  }
  CHECK(draw_points(axes, 2, 0)[0][2].override != draw_points(axes, 2, 1)[0][2].override);
}

TEST_CASE("sweep: a random search finds every point of a space of words") {
  const auto axes = sound_axes({"a=1,2,3", "b=1,2,3,4,5", "c=x,y"});
  CHECK(draw_points(axes, 1000, 3).size() == 30);
}
