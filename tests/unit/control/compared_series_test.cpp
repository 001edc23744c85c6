#include "control/report/compare/compared_series.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace exprun;

namespace {

ComparedSeries series_of(std::vector<std::vector<MetricRow>> values) {
  ComparedSeries series{"val/loss", {}, std::move(values), Goal::lowest};
  for (const auto& rows : series.values)
    series.summaries.push_back(rows.empty() ? std::nullopt : std::optional(SeriesRow{}));
  return series;
}

}  // namespace

TEST_CASE("compared series: where two part") {
  const std::vector<MetricRow> first = {{1, 4.0}, {2, 3.0}, {4, 2.0}, {5, NAN}, {6, 1.0}};
  const Parting same = parting_of(first, first);
  CHECK(same.common_steps == 5);
  CHECK_FALSE(same.differ);
  CHECK_FALSE(same.clear);

  const Parting parting =
      parting_of(first, {{1, 4.0}, {2, 3.0 + 1e-15}, {3, 9.0}, {4, 2.01}, {5, NAN}, {6, 1.011}});
  CHECK(parting.common_steps == 5);
  REQUIRE(parting.differ);
  CHECK(parting.differ->step == 2);
  CHECK(parting.differ->first == 3.0);
  CHECK(parting.differ->other == 3.0 + 1e-15);
  REQUIRE(parting.clear);
  CHECK(parting.clear->step == 6);  // 2.01 is within a hundredth of 2

  CHECK(parting_of(first, {{5, 1.0}}).clear->step == 5);  // NaN is far from any number
  CHECK(parting_of(first, {{7, 1.0}}).common_steps == 0);
}

TEST_CASE("compared series: partings as text, Markdown, LaTeX, CSV and JSON") {
  std::vector<RunRow> runs(3);
  runs[0].folder = "größe-日本";
  runs[1].folder = "b";
  runs[2].folder = "c";
  const ComparedSeries series =
      series_of({{{1, 4.0}, {2, 3.0}}, {{1, 4.0}, {2, NAN}}, {{1, 4.0}, {2, 3.0}}});
  const ResultTable table = partings_of(runs, {series});
  CHECK(
      to_plain(table, {200, false}) ==
      R"(series    against größe-日本  common steps  first difference at step  value  value of größe-日本  1% apart at step
val/loss  b                              2                         2    nan                    3                 2
val/loss  c                              2                      none                                          none
)");
  CHECK(to_plain(table, {80, false}) ==
        R"(series    against größe-日本  first difference at step  value  1% apart at step
val/loss  b                                          2    nan                 2
val/loss  c                                       none                     none
)");
  CHECK(
      to_markdown(table) ==
      R"(| series | against größe-日本 | common steps | first difference at step | value | value of größe-日本 | 1% apart at step |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
| val/loss | b | 2 | 2 | nan | 3 | 2 |
| val/loss | c | 2 | none |  |  | none |
)");
  CHECK(to_latex(table) ==
        R"(% \usepackage{booktabs}
\begin{tabular}{llrrrrr}
\toprule
series & against größe-日本 & common steps & first difference at step & value & value of größe-日本 & 1\% apart at step \\
\midrule
val/loss & b & 2 & 2 & nan & 3 & 2 \\
val/loss & c & 2 & none &  &  & none \\
\bottomrule
\end{tabular}
)");
  CHECK(to_csv(table) ==
        R"(series,run,common_steps,first_difference,value,value_of_first,first_above_1_percent
val/loss,b,2,2,nan,3,2
val/loss,c,2,,,,
)");
  CHECK(to_json(table) ==
        R"([
 {"series":"val/loss","run":"b","common_steps":2,"first_difference":2,"value":"nan","value_of_first":3.0,"first_above_1_percent":2},
 {"series":"val/loss","run":"c","common_steps":2,"first_difference":null,"value":null,"value_of_first":null,"first_above_1_percent":null}
]
)");
}

TEST_CASE("compared series: the last common step") {
  const auto common = at_common_step(
      series_of({{{1, 4.0}, {3, 3.0}, {9, 1.0}}, {}, {{1, 5.0}, {3, 2.0}, {8, 1.0}}}));
  REQUIRE(common);
  CHECK(common->column.title == "val/loss at step 3");
  CHECK(common->cells[0].as_number() == 3.0);
  CHECK_FALSE(common->cells[1].as_number());
  CHECK(common->cells[2].as_number() == 2.0);
  CHECK_FALSE(at_common_step(series_of({{{1, 4.0}}, {}})));
  CHECK_FALSE(at_common_step(series_of({{{1, 4.0}}, {{2, 4.0}}})));
}

TEST_CASE("compared series: the median") {
  CHECK(median_of({{1, 3.0}, {2, 1.0}, {3, 2.0}}) == 2.0);
  CHECK(median_of({{1, 3.0}, {2, 1.0}}) == 2.0);
  CHECK(median_of({{1, NAN}, {2, 3.0}, {3, NAN}, {4, 1.0}, {5, 2.0}}) == 2.0);
  CHECK_FALSE(median_of({}));
  CHECK_FALSE(median_of({{1, NAN}}));
}
