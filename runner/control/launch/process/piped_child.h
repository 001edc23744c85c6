// A child process that is asked and answers, a line at a time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file.h"
#include "control/launch/process/child_process.h"

namespace exprun {

class PipedChild {
 public:
  // The program's file first. Its standard error is this process's own; at this process's death the
  // kernel kills it. Throws Error when it cannot be started.
  // `environment`: variables that it gets unless they are set already.
  explicit PipedChild(const std::vector<std::string>& words,
                      const EnvironmentVariables& environment = {});
  ~PipedChild();  // kills it, if nobody has seen its end
  PipedChild(const PipedChild&) = delete;
  PipedChild& operator=(const PipedChild&) = delete;

  // To its standard input, with a line end. A child that is gone is told by read_line().
  void write_line(std::string_view line);
  // Of its standard output, without the line end; nothing once it has closed that.
  std::optional<std::string> read_line();
  // Closes its standard input and waits for its end: the exit code, or 128 + signal.
  int finish();

 private:
  pid_t pid_ = -1;
  UniqueFd input_, output_;
  std::string read_;
};

}  // namespace exprun
