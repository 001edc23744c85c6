#include "control/command/report_page.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/process/signals.h"
#include "base/utf8.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNewestSamples = 5;
constexpr size_t kLongestSample = 20'000;  // bytes
constexpr std::chrono::seconds kEvery{2};
constexpr std::chrono::milliseconds kLook{100};

// The newest texts, newest first. One that is just being replaced, or cannot be read, is left out.
std::vector<std::pair<std::string, std::string>> samples_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.rbegin(), files.rend());
  if (files.size() > kNewestSamples) files.resize(kNewestSamples);
  std::vector<std::pair<std::string, std::string>> samples;
  for (const fs::path& file : files) try {
      samples.emplace_back(to_valid_utf8(file.stem().string()),
                           to_valid_utf8(read_file(file).substr(0, kLongestSample)));
    } catch (const Error&) {
      continue;
    }
  return samples;
}

}  // namespace

std::vector<PageRun> page_runs(const Store& store, const StoreFolder& folder,
                               const std::vector<ReportedRun>& runs,
                               const std::vector<size_t>& order) {
  std::vector<std::vector<SeriesRow>> series;
  size_t curves = 0;
  for (const size_t place : order) {
    series.push_back(store.series(runs[place].run.id));
    curves += series.back().size();
  }
  const size_t most = points_per_curve(curves);
  std::vector<PageRun> pages;
  for (size_t i = 0; i < order.size(); ++i) {
    const RunRow& run = runs[order[i]].run;
    PageRun page{run.folder, {}, samples_in(folder.run(run.folder).samples())};
    for (const SeriesRow& row : series[i])
      page.curves.push_back({row.name, keep_extremes(store.metrics(row.id), most)});
    pages.push_back(std::move(page));
  }
  return pages;
}

void write_page(const fs::path& file, bool follow, const std::function<Page()>& page,
                const std::function<bool()>& trains) {
  if (follow) watch_stop_signals();
  for (;;) {
    write_file_atomically(file, to_html(page()));
    if (!follow || !trains()) return;
    for (std::chrono::milliseconds waited{0}; waited < kEvery; waited += kLook) {
      if (stop_requested() != StopRequest::none) return;
      std::this_thread::sleep_for(kLook);
    }
  }
}

}  // namespace exprun
