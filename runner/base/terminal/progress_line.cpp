#include "base/terminal/progress_line.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format_units.h"
#include "base/log.h"
#include "base/terminal/terminal.h"

namespace exprun {
namespace {

constexpr size_t kWidestBar = 30, kNarrowBar = 10, kNarrowestBar = 3;  // without its brackets
constexpr double kRateAfter = 0.5;  // seconds; before them a rate says nothing
constexpr double kLeastSeconds = 0.95;
constexpr int64_t kWrittenOut = 10'000;  // less work is counted to the last unit

std::string percent(double fraction) {
  const std::string digits = std::to_string(static_cast<int>(std::floor(100 * fraction)));
  return std::string(3 - std::min<size_t>(3, digits.size()), ' ') + digits + "%";
}

std::string bar(double fraction, size_t width, bool color) {
  const auto full = static_cast<size_t>(fraction * static_cast<double>(width));
  std::string done(full, '=');
  if (full < width) done += '>';
  const std::string rest(width - std::min(width, done.size()), ' ');
  return "[" + inked(done, Ink::cyan, color) + rest + "]";
}

std::string joined(const std::vector<LinePart>& parts, const std::string& gap) {
  std::string text;
  for (const LinePart& part : parts) text += gap + part.text;
  return text;
}

}  // namespace

std::string progress_line(double fraction, std::vector<LinePart> parts, size_t columns,
                          bool color) {
  fraction = std::clamp(fraction, 0.0, 1.0);
  std::string gap = "  ";
  size_t least = kNarrowBar;
  for (;;) {
    const std::string rest = joined(parts, gap);
    const size_t taken = shown_width(rest) + percent(fraction).size() + 3;
    if (taken + least <= columns)
      return percent(fraction) + " " + bar(fraction, std::min(kWidestBar, columns - taken), color) +
             rest;
    const auto long_one = std::find_if(parts.rbegin(), parts.rend(),
                                       [](const LinePart& part) { return !part.brief.empty(); });
    const auto next =
        std::max_element(parts.begin(), parts.end(),
                         [](const auto& a, const auto& b) { return a.dropped < b.dropped; });
    if (gap.size() > 1) {
      gap = " ";
      least = kNarrowestBar;
    } else if (long_one != parts.rend()) {
      long_one->text = std::exchange(long_one->brief, "");
    } else if (next != parts.end() && next->dropped > 0) {
      parts.erase(next);
    } else {
      return clipped(percent(fraction) + rest, columns);
    }
  }
}

std::string time_span(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < kLeastSeconds) return "<1 s";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const auto of = [](int64_t count, const char* unit) { return std::to_string(count) + unit; };
  const int64_t days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  if (days) return of(days, " d ") + of(hours, " h");
  if (hours) return of(hours, " h ") + of(minutes, " min");
  if (minutes) return of(minutes, " min ") + of(whole % 60, " s");
  return of(whole, " s");
}

std::string brief_time_span(double seconds) {
  std::string text;
  for (const char letter : time_span(seconds))
    if (letter != ' ') text += letter;
  if (const size_t minutes = text.find("min"); minutes != text.npos) text.erase(minutes + 1, 2);
  return text;
}

std::string work_done(int64_t done, int64_t all, const std::string& unit, double seconds) {
  done = std::min(done, all);  // the last part may be of more
  const auto counted = [&](int64_t count) {
    return all < kWrittenOut ? with_thousands(count) : in_thousands(static_cast<double>(count));
  };
  std::string text = counted(done) + " of " + counted(all) + " " + unit;
  if (done <= 0 || seconds < kRateAfter) return text;
  const double rate = static_cast<double>(done) / seconds;
  return text + ", " + in_thousands(rate) + " " + unit + "/s, ETA " +
         time_span(static_cast<double>(all - done) / rate);
}

bool ProgressThrottle::is_due() {
  constexpr std::chrono::milliseconds kPauseInLog{10'000};
  const auto now = Clock::now();
  if (now - shown_ < (has_progress_line() ? redraw_ : kPauseInLog)) return false;
  shown_ = now;
  return true;
}

}  // namespace exprun
