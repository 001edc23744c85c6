// The table of commands, in the order in which help shows them.
#include "base/suggest.h"
#include "control/command/command.h"
#include "control/command/data.h"

namespace exprun {
namespace {

constexpr Command kCommands[] = {
    {"check", "find every mistake in a recipe, and show the plan of its run", run_check},
    {"show", "print a recipe or run with every default filled in", run_show},
    {"schema", "explain the keys of recipes", run_schema},
    {"new", "write a first recipe, to begin from", run_new},
    {"resume", "continue a run from its newest checkpoint", run_resume},
    {"eval", "run a run's evaluations on its newest checkpoint", run_eval},
    {"sample", "let a run's newest checkpoint write text", run_sample},
    {"sweep", "run every combination of key=a,b,c...", run_sweep},
    {"rerun", "run a run's recipe again, and say what is different", run_rerun},
    {"ls", "list the runs", run_ls},
    {"report", "compare runs: what was changed, and what came of it", run_report},
    {"query", "ask the store in SQL", run_query},
    {"export", "print every value of runs as CSV or JSON Lines", run_export},
    {"tag", "give runs a word to be found by", run_tag},
    {"note", "write something down about a run", run_note},
    {"rm", "remove runs; they can be restored", run_rm},
    {"restore", "bring removed runs back", run_restore},
    {"gc", "take removed runs off the disk, for good", run_gc},
    {"merge", "bring the runs of another store in", run_merge},
    {"data", "prepare, fetch and look at token shards", run_data, data_commands},
    {"doctor", "say what exprun sees of this machine and its store", run_doctor},
    {"completion", "print the completion script of a shell", run_completion},
    {"help", "explain a command", run_help},
    {"version", "print the version", run_version},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

const Command* find_command(std::span<const Command> commands, const std::string& name) {
  for (const Command& command : commands)
    if (name == command.name) return &command;
  return nullptr;
}

std::string meant_command(std::span<const Command> commands, const std::string& word,
                          const std::string& help) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  const auto near = nearest(word, names);
  return near ? ", did you mean '" + *near + "'?" : "; see " + help;
}

std::string meant_command(const std::string& word) {
  return meant_command(commands(), word, "exprun --help");
}

std::string command_lines(std::span<const Command> commands) {
  size_t width = 0;
  for (const Command& command : commands) width = std::max(width, std::string(command.name).size());
  std::string text;
  for (const Command& command : commands) {
    const std::string name = command.name;
    text += "  " + name + std::string(width + 2 - name.size(), ' ') + command.help + '\n';
  }
  return text;
}

}  // namespace exprun
