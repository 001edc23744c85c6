// The line that says how far work is, and how long it takes: a bar and what there is to say, fitted
// to a terminal. base/log.h shows it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace exprun {

struct LinePart {
  std::string text;
  int dropped = 0;         // where there is no room, the highest first; 0 stays
  std::string brief = "";  // takes the text's place before anything is dropped, if it has one
};

// " 38% [====>     ]  76/200  loss 2.703": the bar takes what room there is. `fraction` is of 1.
std::string progress_line(double fraction, std::vector<LinePart> parts, size_t columns, bool color);

// In sentences: "<1 s", "12 s", "1 min 20 s", "2 h 5 min", "3 d 4 h"
std::string time_span(double seconds);
// In a narrow line: "<1s", "12s", "1m20s", "2h5m", "3d4h"
std::string brief_time_span(double seconds);

// "12.0 k of 65.5 k tokens, 8.12 k tokens/s, ETA 7 s", "49 of 1,000 endings": work that has taken
// so many seconds; without rate and ETA before there is something to measure.
std::string work_done(int64_t done, int64_t all, const std::string& unit, double seconds);

// When progress is shown again: often where a terminal's line is rewritten, seldom where each is
// one more line of a log.
class ProgressThrottle {
 public:
  // `redraw`: the pause on a terminal; elsewhere it is ten seconds.
  explicit ProgressThrottle(std::chrono::milliseconds redraw) : redraw_(redraw) {}

  // Whether the pause has passed; the next one then begins. The first begins with the object. Costs
  // a look at the clock.
  bool is_due();

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds redraw_;
  Clock::time_point shown_ = Clock::now();
};

}  // namespace exprun
