// Key numbers of a run, from the newest values of its series.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/terminal/progress_line.h"
#include "control/report/compare/criterion.h"
#include "store/rows.h"

namespace exprun {

// The series of this name, if it has a value.
const SeriesRow* series_with_values(const std::vector<SeriesRow>& series, const std::string& name);

// Those of `metrics` first, then the losses, the metric of the recipe, and others.
std::vector<LinePart> metric_facts(const std::vector<SeriesRow>& series,
                                   const std::vector<std::string>& metrics,
                                   const Criterion& criterion);

// Processor, memory, load, disk, and each GPU.
std::vector<LinePart> system_facts(const std::vector<SeriesRow>& series);

// By the pace of the last minute of this attempt; nothing before there is one.
std::optional<double> seconds_left(const RunRow& run, const std::vector<MetricRow>& losses);

}  // namespace exprun
