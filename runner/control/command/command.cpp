#include "control/command/command.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "base/suggest.h"
#include "control/command/data.h"
#include "control/command/line/arguments.h"
#include "control/command/line/recipe_words.h"
#include "control/command/sweep.h"

namespace exprun {

int dispatch(Words words) {
  const Globals globals = take_globals(words);
  set_log_level(globals.level);
  if (words.empty() || words[0] == "-h" || words[0] == "--help") return run_help({}, globals);
  if (words[0] == "--version" || words[0] == "-V")
    return run_version({words.begin() + 1, words.end()}, globals);
  if (const Command* command = find_command(commands(), words[0]))
    return command->run({words.begin() + 1, words.end()}, globals);
  if (words[0].starts_with('-') || !names_recipe(words[0])) {
    const std::string bare =  // "--list" may mean what "list" does
        words[0].substr(std::min(words[0].size(), words[0].find_first_not_of('-')));
    std::string note = option_note(words[0], "");
    if (note.empty()) note = command_note(bare);
    throw Error(
        "'" + words[0] + "' is neither a command nor a recipe" +
            (note.empty() ? meant_command_or_recipe(commands(), bare, "exprun --help") : note),
        ExitCode::bad_recipe);
  }
  return run_recipe(words, globals);
}

namespace {

// The table of commands, in the order in which help shows them.

constexpr Command kCommands[] = {
    {"check", "list every mistake in a recipe, and show the plan of its run", run_check},
    {"show", "print a recipe or run with every default filled in", run_show},
    {"schema", "explain the keys of recipes", run_schema},
    {"new", "write a starter recipe", run_new},
    {"resume", "continue a run from its newest checkpoint", run_resume},
    {"fork", "start a new run from a checkpoint of another, with changes", run_fork},
    {"stop", "save and end runs", run_stop},
    {"logs", "print the log of a run", run_logs},
    {"eval", "evaluate a run's newest checkpoint", run_eval},
    {"sample", "generate text from a run's newest checkpoint", run_sample},
    {"sweep", "run every combination of key=a,b,c...", run_sweep, sweep_commands},
    {"rerun", "run the recipe of a run again, and report what differs", run_rerun},
    {"ls", "list the runs", run_ls},
    {"report", "compare runs: different settings and results", run_report},
    {"compare", "show runs side by side: settings, code, results, curves", run_compare},
    {"plot", "plot curves of runs in the terminal, or as SVG or PNG", run_plot},
    {"watch", "show a run or sweep live in the terminal", run_watch},
    {"query", "query the store with SQL", run_query},
    {"export", "print the metrics of runs, or write a run's model", run_export},
    {"tag", "tag a run", run_tag},
    {"note", "add a note to a run", run_note},
    {"rm", "remove runs; they can be restored", run_rm},
    {"restore", "restore removed runs", run_restore},
    {"gc", "delete removed runs for good", run_gc},
    {"merge", "copy the runs of another store into this one", run_merge},
    {"data", "prepare, download and inspect data", run_data, data_commands, true},
    {"doctor", "report what exprun finds on this machine and in its store", run_doctor},
    {"completion", "print the completion script for a shell", run_completion},
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
  const std::string synonym = command_synonym(word, names);
  if (!synonym.empty()) return synonym;
  const auto near = nearest(word, names);
  return near ? "; did you mean '" + *near + "'?" : "; see " + help;
}

std::string meant_command(const std::string& word) {
  const std::string note = command_note(word);
  return note.empty() ? meant_command(commands(), word, "exprun --help") : note;
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
