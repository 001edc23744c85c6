#include "control/sweep/analysis.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace exprun;

namespace {

ScoredPoint point(const std::string& changes, double score) {
  return {axis_values(changes), score};
}

void check_unexplained(const std::vector<ScoredPoint>& points, size_t axes) {
  const std::vector<Importance> all = importance_of_axes(points);
  CHECK(all.size() == axes);
  for (const Importance& axis : all) CHECK(!axis.explained);
}

}  // namespace

TEST_CASE("sweep analysis: the values of a point by axis") {
  CHECK(axis_values("lr=1e-3 num_layers=4") == AxisValues{{"lr", "1e-3"}, {"num_layers", "4"}});
  CHECK(axis_values("betas=[0.9, 0.95] path=\"a b\" name='c [d'") ==
        AxisValues{{"betas", "[0.9, 0.95]"}, {"path", "\"a b\""}, {"name", "'c [d'"}});
  CHECK(axis_values("as written").empty());
  CHECK(axis_values("warmup=5 steps run.seed=1") ==
        AxisValues{{"warmup", "5 steps"}, {"run.seed", "1"}});
  CHECK(to_string(axis_values("warmup=5 steps lr=1")) == "warmup=5 steps lr=1");
}

TEST_CASE("sweep analysis: an axis explains the variance between its values") {
  // lr makes all the difference, layers none.
  const auto axes = importance_of_axes({point("lr=1 layers=2", 1), point("lr=1 layers=4", 1),
                                        point("lr=2 layers=2", 3), point("lr=2 layers=4", 3)});
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].axes == std::vector<std::string>{"lr"});
  CHECK(*axes[0].explained == 1);
  CHECK(*axes[1].explained == 0);
  // Within lr 1/2 + 1/2 of 5 in all: 1 - (1 / 2) / (5 / 3).
  const auto mixed =
      importance_of_axes({point("lr=1", 1), point("lr=1", 2), point("lr=2", 3), point("lr=2", 4)});
  CHECK(std::abs(*mixed[0].explained - 0.7) < 1e-12);
  CHECK(*unexplained_variance({point("lr=1", 1), point("lr=1", 2), point("lr=2", 3),
                               point("lr=2", 4)}) == doctest::Approx(0.3));
  CHECK(!unexplained_variance({point("lr=1", 1), point("lr=2", 2)}));
}

TEST_CASE("sweep analysis: points that differ in the words of a value are several") {
  const auto points =
      replicates_of({point("warmup=5 steps seed=1", 1), point("warmup=5 steps seed=2", 3),
                     point("warmup=5 epochs seed=1", 5), point("warmup=5 epochs seed=2", 7)},
                    false);
  REQUIRE(points.size() == 2);
  CHECK(to_string(points[0].point) == "warmup=5 steps");
  CHECK(points[0].spread.mean == 2);
  CHECK(to_string(points[1].point) == "warmup=5 epochs");
  CHECK(points[1].spread.count == 2);
}

TEST_CASE("sweep analysis: what other axes do is no noise") {
  // Of squares 9 x 2 and 1 x 2 around the means and no rest: lr 0.9, layers 0.1.
  std::vector<ScoredPoint> grid;
  for (const int lr : {-3, 3})
    for (const int layers : {-1, 1})
      grid.push_back(
          point("lr=" + std::to_string(lr) + " layers=" + std::to_string(layers), lr + layers));
  const auto axes = importance_of_axes(grid);
  CHECK(*axes[0].explained == doctest::Approx(0.9));
  CHECK(*axes[1].explained == doctest::Approx(0.1));
  // Points of a random search: the axes are not balanced, and what moves both is told apart.
  const std::vector<ScoredPoint> drawn{point("a=1 b=1", 0), point("a=1 b=1", 0),
                                       point("a=1 b=2", 1), point("a=2 b=2", 1),
                                       point("a=2 b=2", 1), point("a=2 b=1", 0)};
  CHECK(*importance_of_axes(drawn)[0].explained == doctest::Approx(0));
  CHECK(*importance_of_axes(drawn)[1].explained == doctest::Approx(8.0 / 9));
}

TEST_CASE("sweep analysis: of an axis within another the outer one explains what both could") {
  std::vector<ScoredPoint> points;  // zip(lr=[1,1,2,2], wd=[0,1,2,3]) x eps
  for (int i = 0; i < 8; ++i)
    points.push_back(point("lr=" + std::to_string(1 + i / 4) + " wd=" + std::to_string(i / 2) +
                               " eps=" + std::to_string(i % 2),
                           i < 4 ? 5 : 3));
  const auto axes = importance_of_axes(points);
  CHECK(*axes[0].explained == doctest::Approx(1));
  CHECK(*axes[1].explained == doctest::Approx(0));
  CHECK(*axes[2].explained == doctest::Approx(0));
}

TEST_CASE("sweep analysis: an axis within two crossed ones adds what they leave") {
  std::vector<ScoredPoint> points;  // zip(a, b, c) and one point again: rank 3 of 4 degrees
  for (const char* changes : {"a=1 b=1 c=1", "a=1 b=2 c=2", "a=2 b=1 c=3", "a=2 b=2 c=4"})
    points.push_back(point(changes, changes[2] == '1' ? 1 : 2));
  points.push_back(point("a=2 b=2 c=4", 2));
  const auto axes = importance_of_axes(points);
  REQUIRE(axes[0].explained.has_value());
  CHECK(*axes[0].explained > 0.9);
}

TEST_CASE("sweep analysis: a random search with seeds is told apart by its points") {
  std::vector<ScoredPoint> points;  // lr makes all the difference
  for (int i = 0; i < 16; ++i)
    for (int seed = 0; seed < 2; ++seed)
      points.push_back(point("lr=" + std::to_string(i) + " wd=" + std::to_string(i * 7 % 16) +
                                 " seed=" + std::to_string(seed),
                             i / 4));
  const auto axes = importance_of_axes(points);
  CHECK(*axes[0].explained > 0.8);
  CHECK(*axes[1].explained < 0.1);
}

TEST_CASE("sweep analysis: shares that add up to more than all tell nothing") {
  // The axes rise together and act against each other, but in one point.
  std::vector<ScoredPoint> points;
  for (int i = 0; i < 2; ++i) {
    points.push_back(point("a=0 b=0", 0));
    points.push_back(point("a=1 b=1", 1));
  }
  points.push_back(point("a=1 b=0", 10));
  check_unexplained(points, 2);
  CHECK(!unexplained_variance(points));
}

TEST_CASE("sweep analysis: where an axis differs in every point, nothing tells the axes apart") {
  const std::vector<ScoredPoint> points{point("lr=1 layers=2", 1), point("lr=2 layers=2", 2),
                                        point("lr=3 layers=4", 3)};
  check_unexplained(points, 2);
  CHECK(!unexplained_variance(points));
  // Drawn at random, two axes part the points alike by chance: they are no zip.
  check_unexplained({point("lr=1 wd=0.1", 1), point("lr=2 wd=0.3", 2), point("lr=3 wd=0.2", 3)}, 2);
}

TEST_CASE("sweep analysis: equal scores are explained by nothing") {
  std::vector<ScoredPoint> points;
  for (const int lr : {1, 1, 2, 2, 3, 3}) points.push_back(point("lr=" + std::to_string(lr), 0.1));
  CHECK(*importance_of_axes(points)[0].explained == 0);
}

TEST_CASE("sweep analysis: axes that vary together are one") {
  const std::vector<ScoredPoint> zipped{
      point("layers=2 lr=1 wd=0", 1), point("layers=2 lr=1 wd=1", 2),
      point("layers=4 lr=2 wd=0", 5), point("layers=4 lr=2 wd=1", 6)};
  const auto axes = importance_of_axes(zipped);
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].axes == std::vector<std::string>{"layers", "lr"});
  CHECK(*axes[0].explained > 0.9);
  CHECK(axes[1].axes == std::vector<std::string>{"wd"});
  CHECK(*axes[1].explained < 0.1);
}

TEST_CASE("sweep analysis: numbers that differ in every point are taken by quarters") {
  std::vector<ScoredPoint> points, words;
  for (int i = 0; i < 16; ++i) {
    const std::string wd = " wd=" + std::to_string(i % 4 * 4 + i / 4);
    points.push_back(point("lr=" + std::to_string(i) + wd, i / 4));
    words.push_back(point("type=\"t" + std::to_string(i) + "\"" + wd, i));
  }
  CHECK(*importance_of_axes(points)[0].explained == 1);
  CHECK(!importance_of_axes(words)[0].explained);
}

TEST_CASE("sweep analysis: what differs along the only axis is no noise") {
  std::vector<ScoredPoint> points;  // as a learning rate does, best in the middle
  for (const int lr : {1, 2, 3, 4, 5})
    points.push_back(point("lr=" + std::to_string(lr) + " wd=0", (lr - 3) * (lr - 3)));
  check_unexplained(points, 2);
  CHECK(!unexplained_variance(points));
  for (size_t i = 0; i < 5; ++i) {
    points.push_back(points[i]);
    points[i].values.emplace_back("seed", "1");
    points.back().values.emplace_back("seed", "2");
  }
  CHECK(*importance_of_axes(points)[0].explained == doctest::Approx(1));
  CHECK(*unexplained_variance(points) == doctest::Approx(0));
}

TEST_CASE("sweep analysis: means and deviations over seeds, which are no axis") {
  const std::vector<ScoredPoint> points{point("lr=1 seed=1", 1), point("lr=1 seed=2", 3),
                                        point("lr=2 seed=1", 7)};
  const auto replicates = replicates_of(points, true);
  REQUIRE(replicates.size() == 2);
  CHECK(to_string(replicates[0].point) == "lr=1");  // the other has one seed only
  CHECK(replicates[0].spread.count == 2);
  CHECK(replicates[0].spread.mean == 2);
  CHECK(replicates[0].spread.deviation == std::sqrt(2.0));
  CHECK(replicates[1].spread.count == 1);
  CHECK(importance_of_axes(points).size() == 1);
  CHECK(replicates_of({point("run.seed=1", 1), point("run.seed=2", 3)}, false)[0].point.empty());
  CHECK(replicates_of({point("lr=1", 1), point("lr=2", 3)}, false).empty());
  const std::vector<ScoredPoint> samples{point("evaluation.sample.seed=1", 1),
                                         point("evaluation.sample.seed=2", 3)};
  CHECK(replicates_of(samples, false).empty());  // the seed of something else
  CHECK(importance_of_axes(samples).size() == 1);
}

TEST_CASE("sweep analysis: the best mean is the lowest or the highest") {
  const std::vector<ScoredPoint> points{point("lr=1 seed=1", 1), point("lr=1 seed=2", 9),
                                        point("lr=2 seed=1", 4), point("lr=2 seed=2", 4)};
  CHECK(to_string(replicates_of(points, false)[0].point) == "lr=2");
  CHECK(to_string(replicates_of(points, true)[0].point) == "lr=1");
}

TEST_CASE("sweep analysis: axes as columns, numbers to the right, titles as short as they can be") {
  const std::vector<AxisValues> points{axis_values("optimizer.lr=1e-3 model.type=\"gpt\""),
                                       axis_values("optimizer.lr=2e-3 run.seed=1")};
  const AxisColumns axes(points);
  const std::vector<Column> columns = axes.columns();
  REQUIRE(columns.size() == 3);
  CHECK(columns[0].key == "optimizer.lr");
  CHECK(columns[0].title == "lr");
  CHECK(columns[0].right);
  CHECK(!columns[1].right);
  CHECK(axes.cells(points[0])[1].text == "gpt");
  CHECK(axes.cells(points[0])[2].text.empty());
  CHECK(axes.cells(points[1])[0].text == "0.002");
  const AxisColumns of_groups(
      {axis_values("optimizer.groups.matrices.lr=1e-3 model.num_layers=2")});
  CHECK(of_groups.columns()[0].title == "matrices.lr");
  CHECK(of_groups.columns()[1].title == "num_layers");
}
