#include "control/data/byte_progress.h"

#include <algorithm>
#include <utility>

#include "base/format_units.h"
#include "base/log.h"
#include "base/terminal/console.h"
#include "base/terminal/progress_line.h"

namespace exprun {
namespace {

constexpr std::chrono::milliseconds kRedraw{200};
constexpr double kRateAfter = 1;  // seconds; before them a rate says nothing

std::string with_bar(const std::string& line, int64_t done, int64_t all) {
  const ProgressRoom room = progress_room();
  if (all <= 0) return line;
  return progress_line(static_cast<double>(done) / static_cast<double>(all), {{line}}, room.columns,
                       room.color);
}

}  // namespace

std::string byte_progress(const std::string& what, int64_t done, int64_t all, double seconds,
                          int64_t before) {
  std::string line = what + ": " + binary_bytes(static_cast<double>(done));
  if (all > 0) line += " of " + binary_bytes(static_cast<double>(all));
  if (seconds < kRateAfter) return line;
  const double rate = static_cast<double>(std::max<int64_t>(0, done - before)) / seconds;
  line += ", " + binary_bytes(rate) + "/s";
  if (all > 0 && rate > 0)
    line += ", ETA " + time_span(static_cast<double>(std::max<int64_t>(0, all - done)) / rate);
  return line;
}

ByteProgress::ByteProgress(std::string what, int64_t all)
    : what_(std::move(what)), all_(all), throttle_(kRedraw) {}

ByteProgress::~ByteProgress() {
  show_progress_line("");
}

void ByteProgress::begin_at(int64_t done) {
  before_ = done;
  start_ = Clock::now();
}

void ByteProgress::show(int64_t done) {
  if (!throttle_.is_due()) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::string line = byte_progress(what_, done, all_, seconds, before_);
  if (!has_progress_line())
    log_info(line);
  else
    show_progress_line(with_bar(line, done, all_));
}

}  // namespace exprun
