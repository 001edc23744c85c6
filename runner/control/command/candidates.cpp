#include "control/command/candidates.h"

#include "control/command/arguments.h"
#include "control/command/globals.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

constexpr const char* kStore = "--store";

void add(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

void print_folders(const std::string& start, const std::string& unfinished) {
  Words folders = offer::folders({unfinished, {}, {}});
  for (std::string& folder : folders) folder = start + folder;
  print_candidates(folders);
}

Words names_of(std::span<const Command> commands) {
  Words names;
  for (const Command& command : commands) names.emplace_back(command.name);
  return names;
}

// The first word: a command, a recipe or one of the options that need no command.
Words first_words(const std::string& last) {
  if (last.starts_with('-')) return {"--help", "--version", kStore, "--quiet", "--verbose"};
  Words words = names_of(commands());
  add(words, offer::recipes({last, {}, {}}));
  return words;
}

// `words` are those behind the command's name, with the unfinished one.
void complete_command(const Command& command, const Words& words, const Globals& globals) {
  if (command.subcommands && words.size() == 1) {
    print_candidates(words[0].starts_with('-') ? Words{"--help"} : names_of(command.subcommands()));
  } else if (command.subcommands) {
    if (const Command* below = find_command(command.subcommands(), words[0]))
      complete_command(*below, {words.begin() + 1, words.end()}, globals);
  } else {
    Words asked = {kCandidates, kStore + ("=" + globals.store.path.string())};
    add(asked, words);
    command.run(asked, globals);
  }
}

}  // namespace

void complete(Words typed) {
  const std::string last = typed.empty() ? "" : typed.back();
  if (!typed.empty()) typed.pop_back();
  if (!typed.empty() && typed.back() == kStore) return print_folders("", last);
  const std::string store = kStore + std::string("=");
  if (last.starts_with(store)) return print_folders(store, last.substr(store.size()));
  const Globals globals = take_globals(typed);
  if (typed.empty()) return print_candidates(first_words(last));
  typed.push_back(last);
  if (const Command* command = find_command(commands(), typed[0]))
    complete_command(*command, {typed.begin() + 1, typed.end()}, globals);
  else
    complete_command({"RECIPE", "", run_recipe}, typed, globals);
}

void print_candidates(const Words& candidates) {
  std::string text;
  for (const std::string& candidate : candidates)
    if (candidate.find('\n') == candidate.npos) text += candidate + '\n';
  print(text);
}

}  // namespace exprun
