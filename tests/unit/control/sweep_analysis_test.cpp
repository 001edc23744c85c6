#include <doctest/doctest.h>

#include <cmath>

#include "control/sweep/analysis.h"

using namespace exprun;

namespace {

ScoredPoint point(const std::string& changes, double score) {
  return {axis_values(changes), score};
}

}  // namespace

TEST_CASE("sweep analysis: the values of a point by axis") {
  CHECK(axis_values("lr=1e-3 num_layers=4") == AxisValues{{"lr", "1e-3"}, {"num_layers", "4"}});
  CHECK(axis_values("betas=[0.9, 0.95] path=\"a b\" name='c [d'") ==
        AxisValues{{"betas", "[0.9, 0.95]"}, {"path", "\"a b\""}, {"name", "'c [d'"}});
  CHECK(axis_values("as written").empty());
}

TEST_CASE("sweep analysis: an axis explains the variance between its values") {
  // lr makes all the difference, layers none.
  const auto axes = importance_of_axes({point("lr=1 layers=2", 1), point("lr=1 layers=4", 1),
                                        point("lr=2 layers=2", 3), point("lr=2 layers=4", 3)});
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].axis == "lr");
  CHECK(*axes[0].explained == 1);
  CHECK(*axes[1].explained == 0);
  // Within lr 1/2 + 1/2 of 5 in all: 1 - (1 / 2) / (5 / 3).
  const auto mixed =
      importance_of_axes({point("lr=1", 1), point("lr=1", 2), point("lr=2", 3), point("lr=2", 4)});
  CHECK(std::abs(*mixed[0].explained - 0.7) < 1e-12);
}

TEST_CASE("sweep analysis: numbers that differ in every point are taken by quarters") {
  std::vector<ScoredPoint> points;
  for (int i = 0; i < 16; ++i) points.push_back(point("lr=" + std::to_string(i), i / 4));
  CHECK(*importance_of_axes(points)[0].explained == 1);
  std::vector<ScoredPoint> words;
  for (int i = 0; i < 16; ++i) words.push_back(point("type=\"t" + std::to_string(i) + "\"", i));
  CHECK(!importance_of_axes(words)[0].explained);
}

TEST_CASE("sweep analysis: means and deviations over seeds, which are no axis") {
  const std::vector<ScoredPoint> points{point("lr=1 seed=1", 1), point("lr=1 seed=2", 3),
                                        point("lr=2 seed=1", 7)};
  const auto replicates = replicates_of(points);
  REQUIRE(replicates.size() == 2);
  CHECK(replicates[0].changes == "lr=1");
  CHECK(replicates[0].count == 2);
  CHECK(replicates[0].mean == 2);
  CHECK(replicates[0].deviation == std::sqrt(2.0));
  CHECK(replicates[1].deviation == 0);
  CHECK(importance_of_axes(points).size() == 1);
  CHECK(replicates_of({point("run.seed=1", 1), point("run.seed=2", 3)})[0].changes == "all");
  CHECK(replicates_of({point("lr=1", 1), point("lr=2", 3)}).empty());
  const std::vector<ScoredPoint> samples{point("evaluation.sample.seed=1", 1),
                                         point("evaluation.sample.seed=2", 3)};
  CHECK(replicates_of(samples).empty());  // the seed of something else
  CHECK(importance_of_axes(samples).size() == 1);
}
