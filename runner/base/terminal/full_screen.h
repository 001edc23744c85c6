// The whole of a terminal, for what is watched: lines that are drawn anew where they changed, keys,
// and resizes. It is given back as it was, whatever ends the watching but SIGKILL.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace exprun {

class FullScreen {
 public:
  // Whether standard output is a terminal that can move its cursor: TERM is neither empty nor
  // "dumb".
  static bool is_possible();

  // Takes the terminal at standard output, where that is possible. At most one at a time.
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  struct Size {
    size_t columns = 80, lines = 24;
  };
  Size size() const;

  // Only lines that differ from what is shown are written. What does not fit is clipped.
  void show(const std::vector<std::string>& lines);

  enum class Event {
    none,     // the time is over
    resized,  // size() is another
    quit,     // q, Ctrl-C, SIGTERM, SIGHUP, or the terminal is gone
  };
  Event wait(std::chrono::milliseconds time);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace exprun
