#include "control/report/export/tensorboard.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/files/event_file.h"
#include "base/files/file.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// "step_00000300.txt" and "step_00000300_long.txt" -> 300; the evaluation's name is after it.
struct Sample {
  int64_t step = 0;
  std::string name = "sample";
};

std::optional<Sample> sample_named(const std::string& stem) {
  constexpr std::string_view kHead = "step_";
  Sample sample;
  if (!stem.starts_with(kHead)) return std::nullopt;
  const char* end = stem.data() + stem.size();
  const auto [stop, error] = std::from_chars(stem.data() + kHead.size(), end, sample.step);
  if (error != std::errc{}) return std::nullopt;
  if (stop != end) sample.name.assign(stop + 1, end);
  return sample;
}

std::vector<fs::path> sample_files(const RunFolder& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder.samples(), none))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// TensorBoard would draw each curve again for each earlier export of the run.
std::vector<fs::path> earlier_exports(const fs::path& folder, const std::string& file_head) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with(file_head)) files.push_back(entry.path());
  return files;
}

void write_hyper_parameters(EventFile& file, double seconds, const Store& store,
                            const RunRow& run) {
  std::vector<std::pair<std::string, HyperParameter>> parameters;
  for (const ParameterRow& row : store.parameters(run.id))
    parameters.emplace_back(row.path, hyper_parameter(row.toml));
  std::vector<std::string> metrics;
  for (const SeriesRow& series : store.series(run.id))
    if (!series.timing) metrics.push_back(series.name);
  file.hyper_parameters(seconds, parameters, metrics);
}

}  // namespace

void write_tensorboard(const Store& store, const RunRow& run, const RunFolder& folder,
                       const fs::path& into) {
  const double seconds = static_cast<double>(run.started_ms) / 1e3;
  const auto earlier = earlier_exports(into, EventFile::file_head(seconds));
  EventFile file(into, seconds);
  write_hyper_parameters(file, seconds, store, run);
  store.each_value(run.id, /*archived=*/false, [&](const ValueRow& row) {
    file.scalar(seconds + row.seconds, row.step, row.name, row.value);
  });
  for (const fs::path& path : sample_files(folder))
    if (const auto sample = sample_named(path.stem().string()))
      file.text(seconds, sample->step, sample->name, read_file(path));
  std::error_code ignored;
  for (const fs::path& other : earlier) fs::remove(other, ignored);
}

}  // namespace exprun
