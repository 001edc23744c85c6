// A subcommand is a function in a file of its own and a line in command.cpp's table.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "control/launch/store_folder.h"

namespace exprun {

using Words = std::vector<std::string>;

// What holds for every command: `--store DIR`, `-q`, `-v`, and the line as it was typed.
struct Globals {
  StoreFolder store;
  LogLevel level = LogLevel::info;
  std::string command_line;
};

struct Command {
  const char* name;
  const char* help;
  int (*run)(const Words& words, const Globals& globals);  // the words after its name
  std::span<const Command> (*subcommands)() = nullptr;
  bool is_group = false;  // it does nothing without one of them
};

std::span<const Command> commands();

// null if there is none
const Command* find_command(std::span<const Command> commands, const std::string& name);

// For the message about a word that is none: "; did you mean 'check'?", or "; see exprun --help".
std::string meant_command(const std::string& word);
std::string meant_command(std::span<const Command> commands, const std::string& word,
                          const std::string& help);

// Names and what each does, a line a command.
std::string command_lines(std::span<const Command> commands);

int run_recipe(const Words& words, const Globals& globals);
int run_check(const Words& words, const Globals& globals);
int run_show(const Words& words, const Globals& globals);
int run_schema(const Words& words, const Globals& globals);
int run_new(const Words& words, const Globals& globals);
int run_completion(const Words& words, const Globals& globals);
int run_resume(const Words& words, const Globals& globals);
int run_fork(const Words& words, const Globals& globals);
int run_stop(const Words& words, const Globals& globals);
int run_logs(const Words& words, const Globals& globals);
int run_eval(const Words& words, const Globals& globals);
int run_sample(const Words& words, const Globals& globals);
int run_sweep(const Words& words, const Globals& globals);
int run_rerun(const Words& words, const Globals& globals);
int run_ls(const Words& words, const Globals& globals);
int run_report(const Words& words, const Globals& globals);
int run_compare(const Words& words, const Globals& globals);
int run_plot(const Words& words, const Globals& globals);
int run_watch(const Words& words, const Globals& globals);
int run_query(const Words& words, const Globals& globals);
int run_export(const Words& words, const Globals& globals);
int run_tag(const Words& words, const Globals& globals);
int run_note(const Words& words, const Globals& globals);
int run_rm(const Words& words, const Globals& globals);
int run_restore(const Words& words, const Globals& globals);
int run_gc(const Words& words, const Globals& globals);
int run_merge(const Words& words, const Globals& globals);
int run_data(const Words& words, const Globals& globals);
int run_doctor(const Words& words, const Globals& globals);
int run_help(const Words& words, const Globals& globals);
int run_version(const Words& words, const Globals& globals);

// From a command line to the command that it names.

// Returns the exit code. A first word that is no command and names a recipe runs it.
int dispatch(Words words);

}  // namespace exprun
