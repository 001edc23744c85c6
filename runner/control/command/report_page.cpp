#include "control/command/report_page.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/process/signals.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "control/command/stored/recorded_criterion.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBytesOfPage = 3'600'000;  // for curves and samples; the rest of 5 MB is tables
constexpr size_t kBytesOfSamples = 900'000;
constexpr size_t kNewestSamples = 5;
constexpr size_t kLongestSample = 20'000;  // bytes
constexpr int kPauseOfWriting = 50;        // times what writing takes: 2 % of a core
constexpr std::chrono::milliseconds kEvery{2000}, kLook{100};

// --- samples

// The newest first.
std::vector<fs::path> sample_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.rbegin(), files.rend());
  return files;
}

// Nothing of one that is just being replaced, or cannot be read.
std::optional<std::pair<std::string, std::string>> read_sample(const fs::path& file) {
  try {
    std::string text = read_file(file);
    if (text.size() > kLongestSample) text = text.substr(0, kLongestSample) + "\n…";
    return std::pair(to_valid_utf8(file.stem().string()), to_valid_utf8(text));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// As JSON writes it within the page: "\n" is short, "\u0001" and "\u003c" are not.
size_t bytes_in_page(char c) {
  if (std::string_view("\"\\\b\f\n\r\t").find(c) != std::string_view::npos) return 2;
  const bool control = static_cast<unsigned char>(c) < ' ';
  return control || c == '<' ? 6 : 1;
}

size_t bytes_in_page(const std::string& text) {
  size_t bytes = 0;
  for (const char c : text) bytes += bytes_in_page(c);
  return bytes;
}

std::string left_out(size_t count, size_t all, const char* things) {
  return with_thousands(static_cast<int64_t>(count)) + " of " +
         with_thousands(static_cast<int64_t>(all)) + ' ' + things +
         " are left out to keep this page small: ";
}

// The newest of each run, then the second newest, as long as there is room. Returns the bytes.
size_t add_samples(Page& page, const std::vector<fs::path>& folders) {
  std::vector<std::vector<fs::path>> files;
  size_t all = 0, shown = 0, bytes = 0;
  for (const fs::path& folder : folders) all += files.emplace_back(sample_files(folder)).size();
  for (size_t age = 0; age < kNewestSamples; ++age)
    for (size_t run = 0; run < files.size() && bytes < kBytesOfSamples; ++run) {
      if (age >= files[run].size()) continue;
      auto sample = read_sample(files[run][age]);
      if (!sample) continue;
      bytes += bytes_in_page(sample->second);
      page.runs[run].samples.push_back(std::move(*sample));
      ++shown;
    }
  if (shown < all)
    page.of_samples = left_out(all - shown, all, "samples") +
                      "older ones, and those of runs far down the table. They lie in the folders "
                      "of the runs.";
  return bytes;
}

// --- curves

struct OfferedCurve {
  size_t run;
  SeriesRow series;
};

// What people look for first: the metric that runs are compared by and losses, other measurements,
// times and the machine.
int importance(const SeriesRow& series, const std::string& metric) {
  if (series.name == metric || series.name == "val/loss" || series.name == "train/loss") return 0;
  const bool of_machine = series.name.starts_with("system/") || series.name.starts_with("time/");
  return series.timing || of_machine ? 2 : 1;
}

std::string note_on_curves(const CurveRoom& room, size_t all, bool thinned) {
  std::string note;
  if (thinned)
    note = "Curves are thinned to at most " + std::to_string(room.points) +
           " points each, among them the first and the last, and the lowest and the highest of "
           "each stretch. ";
  if (room.curves < all)
    note += left_out(all - room.curves, all, "curves") +
            "times and system metrics first, then others of runs far down the table. exprun plot "
            "shows any of them.";
  return note;
}

void add_curves(Page& page, const Store& store, std::vector<OfferedCurve> offered,
                const std::string& metric, size_t bytes) {
  std::stable_sort(offered.begin(), offered.end(), [&](const auto& a, const auto& b) {
    return importance(a.series, metric) < importance(b.series, metric);
  });
  std::vector<CurveSize> sizes;
  for (const OfferedCurve& curve : offered)
    sizes.push_back({static_cast<size_t>(curve.series.count), curve.series.name.size(),
                     static_cast<size_t>(curve.series.last_step)});
  const CurveRoom room = room_for(sizes, bytes);
  bool thinned = false;
  for (size_t i = 0; i < room.curves; ++i) {
    const SeriesRow& series = offered[i].series;
    const auto points = store.metrics(series.id);
    thinned = thinned || points.size() > room.points;
    page.runs[offered[i].run].curves.push_back({series.name, keep_extremes(points, room.points)});
  }
  page.of_curves = note_on_curves(room, offered.size(), thinned);
}

// That of the sweep, where all runs are its trials; else that of their recipes.
std::string compared_metric(const Store& store, const std::vector<ReportedRun>& runs) {
  const auto sweep = runs.empty() ? std::nullopt : runs.front().run.sweep_id;
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const ReportedRun& reported) {
    return reported.run.sweep_id == sweep;
  });
  return recorded_criterion(store, runs, sweep && same ? std::to_string(*sweep) : "").series;
}

}  // namespace

void add_runs(Page& page, const Store& store, const StoreFolder& folder,
              const std::vector<ReportedRun>& runs, const std::vector<size_t>& order) {
  std::vector<fs::path> sample_folders;
  std::vector<OfferedCurve> curves;
  for (size_t i = 0; i < order.size(); ++i) {
    const RunRow& run = runs[order[i]].run;
    page.runs.push_back({run.folder, {}, {}, words_of_list(run.tags)});
    sample_folders.push_back(folder.run(run.folder).samples());
    for (SeriesRow& series : store.series(run.id)) curves.push_back({i, std::move(series)});
  }
  const size_t used = add_samples(page, sample_folders);
  add_curves(page, store, std::move(curves), compared_metric(store, runs),
             kBytesOfPage - std::min(kBytesOfPage, used));
}

void write_page(const fs::path& file, bool follow, const std::function<Page()>& page,
                const std::function<bool()>& goes_on) {
  using Clock = std::chrono::steady_clock;
  if (follow) watch_stop_signals();
  for (;;) {
    const auto begin = Clock::now();
    write_file_atomically(file, to_html(page()));
    if (!follow || !goes_on()) return;
    const auto next =
        Clock::now() + std::max<Clock::duration>(kEvery, kPauseOfWriting * (Clock::now() - begin));
    while (Clock::now() < next) {
      if (stop_requested() != StopRequest::none) return;
      std::this_thread::sleep_for(kLook);
    }
  }
}

}  // namespace exprun
