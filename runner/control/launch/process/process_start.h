// The one way in which children begin: none outlives this process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace exprun {

struct ProcessStart {
  std::vector<std::string> words;        // the program first, sought on the PATH without a slash
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  int at_launchers_death = 0;            // the signal that the kernel sends it then

  // In the child, before it becomes the program: system calls only.
  std::function<void()> set_up = [] {};
};

// Throws Error when the program cannot be started.
pid_t start_process(const ProcessStart& start);

// This process's own.
std::vector<std::string> own_environment();

}  // namespace exprun
