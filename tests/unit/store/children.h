// Processes that do something to one store at the same time.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace exprun {

// Runs `body` in `count` children at once; the number of them that failed.
template <typename Body>
int failures_of_children(int count, Body&& body) {
  int gate[2];
  REQUIRE(::pipe(gate) == 0);
  for (int i = 0; i < count; ++i) {
    if (::fork() != 0) continue;
    ::close(gate[1]);
    char byte = 0;
    if (::read(gate[0], &byte, 1) != 0) ::_exit(2);
    int result = 1;
    try {
      body(i);
      result = 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(result);
  }
  ::close(gate[0]);
  ::close(gate[1]);  // go
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    int status = 0;
    ::wait(&status);
    failures += status != 0;
  }
  return failures;
}

}  // namespace exprun
