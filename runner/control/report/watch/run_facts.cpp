#include "control/report/watch/run_facts.h"

#include <algorithm>
#include <set>

#include "base/format_units.h"

namespace exprun {
namespace {

constexpr int64_t kRateOverMs = 60'000;

// "0.001" rather than "0.001000"
std::string short_number(double value) {
  constexpr size_t kShort = 6;
  const std::string text = shortest(value);
  return text.size() <= kShort ? text : four_digits(value);
}

// "val/loss 2.403 (best 2.391 at step 200)"; of what is measured in training the newest value says
// enough.
std::string value_text(const SeriesRow& series, Goal goal) {
  std::string text = series.name + ' ' + short_number(series.last);
  if (goal == Goal::none || series.name.starts_with("train/") || series.count <= series.non_finite)
    return text;
  const bool highest = goal == Goal::highest;
  return text + " (best " + four_digits(highest ? series.max : series.min) + " at step " +
         std::to_string(highest ? series.max_step : series.min_step) + ')';
}

// "GPU 0: 98%, 60.1 GiB, 300 W, 65 °C"
std::string gpu_text(const std::vector<SeriesRow>& series, size_t gpu) {
  const std::string name = "system/gpu" + std::to_string(gpu) + '/';
  std::string text;
  const auto add = [&](const char* what, const auto& write) {
    if (const SeriesRow* const each = series_with_values(series, name + what))
      text += (text.empty() ? "" : ", ") + write(each->last);
  };
  const auto rounded = [](const char* unit) {
    return [unit](double value) { return fixed(value, 0) + unit; };
  };
  add("utilization_percent", rounded("%"));
  add("memory_bytes", binary_bytes);
  add("power_watts", rounded(" W"));
  add("temperature_celsius", rounded(" °C"));
  return text.empty() ? "" : "GPU " + std::to_string(gpu) + ": " + text;
}

}  // namespace

const SeriesRow* series_with_values(const std::vector<SeriesRow>& series, const std::string& name) {
  const auto found = std::find_if(series.begin(), series.end(), [&](const SeriesRow& each) {
    return each.name == name && each.count > 0;
  });
  return found == series.end() ? nullptr : &*found;
}

std::vector<LinePart> metric_facts(const std::vector<SeriesRow>& series,
                                   const std::vector<std::string>& metrics,
                                   const Criterion& criterion) {
  std::vector<LinePart> parts;
  std::vector<std::string> names = metrics;
  for (const char* name : {"train/loss", "val/loss"}) names.push_back(name);
  names.push_back(criterion.series);
  for (const char* name : {"lr", "grad_norm"}) names.push_back(name);
  std::set<std::string> told;
  for (const std::string& name : names)
    if (const SeriesRow* const each = series_with_values(series, name);
        each && told.insert(name).second)
      parts.push_back({value_text(*each, goal_of(name, criterion)), static_cast<int>(told.size())});
  if (const SeriesRow* const rate = series_with_values(series, "tokens_per_s"))
    parts.push_back({with_thousands(static_cast<int64_t>(rate->last)) + " tokens/s", 2});
  return parts;
}

std::vector<LinePart> system_facts(const std::vector<SeriesRow>& series) {
  std::vector<LinePart> parts;
  if (const SeriesRow* const cpu = series_with_values(series, "system/process_cpu_percent"))
    parts.push_back({"CPU " + fixed(cpu->last, 0) + "%", 1});
  if (const SeriesRow* const memory = series_with_values(series, "system/process_memory_bytes"))
    parts.push_back({"memory " + binary_bytes(memory->last), 2});
  if (const SeriesRow* const load = series_with_values(series, "system/load"))
    parts.push_back({"load " + fixed(load->last, 1), 3});
  if (const SeriesRow* const disk = series_with_values(series, "system/disk_free_bytes"))
    parts.push_back({"disk free " + binary_bytes(disk->last), 4});
  for (size_t gpu = 0;; ++gpu) {
    const std::string text = gpu_text(series, gpu);
    if (text.empty()) return parts;
    parts.push_back({text, 5 + static_cast<int>(gpu)});
  }
}

std::optional<double> seconds_left(const RunRow& run, const std::vector<MetricRow>& losses) {
  if (run.state != RunState::running || losses.empty()) return std::nullopt;
  const MetricRow& last = losses.back();
  const auto begin = std::find_if(losses.begin(), losses.end(), [&](const MetricRow& row) {
    return row.step > run.from_step && last.time_ms - row.time_ms <= kRateOverMs;
  });
  if (begin == losses.end() || begin->step >= last.step || begin->time_ms >= last.time_ms)
    return std::nullopt;
  const double per_step = static_cast<double>(last.time_ms - begin->time_ms) / 1e3 /
                          static_cast<double>(last.step - begin->step);
  return per_step * static_cast<double>(run.steps - run.last_step);
}

}  // namespace exprun
