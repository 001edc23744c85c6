#include "control/data/byte_progress.h"

#include <algorithm>
#include <utility>

#include "base/humane.h"
#include "base/log.h"

namespace exprun {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(200);
constexpr auto kPlainLine = std::chrono::seconds(10);
constexpr double kRateAfter = 1;  // seconds; before them a rate says nothing

}  // namespace

std::string byte_progress(const std::string& what, int64_t done, int64_t all, double seconds) {
  const double part = static_cast<double>(done), whole = static_cast<double>(all);
  std::string line = what + ": " + binary_bytes(part);
  if (all > 0) line += " of " + binary_bytes(whole);
  if (seconds < kRateAfter) return line;
  line += ", " + binary_bytes(part / seconds) + "/s";
  if (all > 0 && done > 0)
    line += ", " + duration(std::max(0.0, whole - part) * seconds / part) + " left";
  return line;
}

ByteProgress::ByteProgress(std::string what, int64_t all) : what_(std::move(what)), all_(all) {}

ByteProgress::~ByteProgress() {
  show_progress_line("");
}

void ByteProgress::show(int64_t done) {
  const bool terminal = has_progress_line();
  const auto now = Clock::now();
  if (now - shown_ < (terminal ? Clock::duration(kRedraw) : Clock::duration(kPlainLine))) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string line = byte_progress(what_, done, all_, seconds);
  terminal ? show_progress_line(line) : log_info(line);
}

}  // namespace exprun
