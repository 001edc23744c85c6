#include "control/report/html/html_page.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace exprun;

namespace {

std::vector<MetricRow> noise(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<MetricRow> points;
  for (size_t i = 0; i < count; ++i)
    points.push_back({static_cast<int64_t>(i), std::uniform_real_distribution(0.0, 1.0)(random)});
  return points;
}

bool holds(const std::vector<MetricRow>& points, const MetricRow& wanted) {
  return std::any_of(points.begin(), points.end(), [&](const MetricRow& point) {
    return point.step == wanted.step &&
           (point.value == wanted.value || (std::isnan(point.value) && std::isnan(wanted.value)));
  });
}

}  // namespace

TEST_CASE("html page: thinned curves keep the extremes of every stretch, in order") {
  for (const size_t most : {5u, 16u, 100u, 999u})
    for (const size_t count : {1u, 17u, 1000u, 12345u}) {
      CAPTURE(most);
      CAPTURE(count);
      auto points = noise(count, static_cast<unsigned>(most + count));
      const auto kept = keep_extremes(points, most);
      CHECK(kept.size() <= std::max(most, count <= most ? count : most));
      CHECK(std::is_sorted(kept.begin(), kept.end(),
                           [](const auto& a, const auto& b) { return a.step < b.step; }));
      const auto less = [](const auto& a, const auto& b) { return a.value < b.value; };
      CHECK(holds(kept, *std::min_element(points.begin(), points.end(), less)));
      CHECK(holds(kept, *std::max_element(points.begin(), points.end(), less)));
      CHECK(kept.front().step == points.front().step);
      CHECK(kept.back().step == points.back().step);
    }
}

TEST_CASE("html page: a spike to NaN or infinity is not thinned away") {
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    auto points = noise(10'000, 1);
    points[4321].value = value;
    CHECK(holds(keep_extremes(points, 100), points[4321]));
  }
}

TEST_CASE("html page: a gap takes no extreme's place") {
  const double nan = std::nan("");
  const std::vector<MetricRow> points = {{1, 2}, {2, 9}, {3, nan}, {4, 5}, {5, 1}, {6, 2}};
  std::vector<int64_t> steps;
  for (const MetricRow& point : keep_extremes(points, 5)) steps.push_back(point.step);
  CHECK(steps == std::vector<int64_t>{1, 2, 3, 5, 6});
  for (const size_t most : {5u, 16u, 100u, 999u}) {
    CAPTURE(most);
    auto many = noise(10'000, static_cast<unsigned>(most));
    for (size_t i = 0; i < many.size(); i += 7) many[i].value = i % 2 ? nan : HUGE_VAL;
    many[4321].value = -1;
    many[4320].value = 2;
    const auto kept = keep_extremes(many, most);
    CHECK(kept.size() <= most);
    CHECK(holds(kept, many[4321]));
    CHECK(holds(kept, many[4320]));
  }
}

TEST_CASE("html page: curves have the points that all of them have room for") {
  const auto curves = [](size_t count, size_t values) {
    return std::vector<CurveSize>(count, CurveSize{values, 10, 99'999});
  };
  CHECK(room_for({}, 0).curves == 0);
  CHECK(room_for(curves(3, 100'000), 3'000'000).points == 1000);
  const CurveRoom thinned = room_for(curves(1000, 100'000), 3'000'000);
  CHECK(thinned.curves == 1000);
  CHECK(thinned.points == (3'000'000 / 1000 - 21) / 16);
  // Short ones leave their room to the others.
  auto mixed = curves(999, 3);
  mixed.push_back({100'000, 10, 99'999});
  CHECK(room_for(mixed, 100'000).points > 500);
  const CurveRoom too_many = room_for(curves(25'000, 100), 3'000'000);
  CHECK(too_many.points == 16);
  CHECK(too_many.curves == 3'000'000 / (21 + 16 * 16));
}

TEST_CASE("html page: names and samples cannot become markup") {
  Page page;
  page.title = "</script><script>alert(1)</script>";
  page.runs.push_back(
      {"<!--<script>", {{"a</script>", {{1, 0.5}, {2, std::nan("")}}}}, {{"s", "<b>\xff"}}});
  page.columns.push_back({{"run", "run"}, {Cell::word("</ScRiPt>")}});
  const std::string html = to_html(page);
  const size_t begin = html.find("type=\"application/json\">");
  REQUIRE(begin != std::string::npos);
  const std::string data = html.substr(begin + 24, html.find("</script>", begin) - begin - 24);
  CHECK(data.find('<') == std::string::npos);
  CHECK(data.find("\"a\\u003c/script>\":[[1,2],[0.5,null]]") != std::string::npos);
  CHECK(data.ends_with("]}"));
}
