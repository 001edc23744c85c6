// What is written to standard error.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace exprun {

inline std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  return text;
}

// What `body`, in a process of its own, writes to standard error, a pipe.
inline std::string through_pipe(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  if (::fork() == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  const std::string text = read_all(ends[0]);
  ::close(ends[0]);
  ::wait(nullptr);
  return text;
}

}  // namespace exprun
