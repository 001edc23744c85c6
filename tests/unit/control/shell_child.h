// Shells as children of a test, and what it knows of them by the files that they make.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "control/launch/process/child_process.h"

namespace exprun {

inline ChildCommand shell(const std::string& script) {
  ChildCommand command;
  command.words = {"/bin/sh", "-c", script};
  command.environment = {{"EXPRUN_TEST_VALUE", "7"}};
  return command;
}

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A launcher that has passed a stop on ignores it from then on; the cases after it need it anew.
struct StopSignals {
  ~StopSignals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  }
};

// Waits for a file that a child makes, then does something.
template <class Action>
std::thread when_there(const std::filesystem::path& file, Action action) {
  return std::thread([=] {
    for (int i = 0; i < 60'000 && !std::filesystem::exists(file); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    action();
  });
}

struct Scratch {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("exprun-child-" + std::to_string(::getpid()));
  Scratch() { std::filesystem::create_directories(path); }
  ~Scratch() { std::filesystem::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
};

}  // namespace exprun
