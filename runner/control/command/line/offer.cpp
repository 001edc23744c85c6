#include "control/command/line/offer.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/diagnostic.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/stored_runs.h"
#include "control/report/standard_output.h"
#include "control/report/table.h"

namespace exprun {

Words offered(const Offer& offer, const Typed& typed) try {
  return offer ? offer(typed) : Words{};
} catch (const Error&) {
  return {};
} catch (const RecipeError&) {
  return {};
}

namespace offer {

namespace {

namespace fs = std::filesystem;

// Folders, and the files that are wanted, beside the unfinished path.
template <class Wanted>
Words beside(const std::string& last, Wanted wanted) {
  const std::string folder = last.substr(0, last.rfind('/') + 1);  // npos + 1 is 0
  const bool hidden = last.substr(folder.size()).starts_with('.');
  Words found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') && !hidden) continue;
    if (entry.is_directory(error))
      found.push_back(folder + name + '/');
    else if (wanted(name))
      found.push_back(folder + name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

template <class Read>
Words stored(const Typed& typed, Read read) {
  const std::set<std::string> words = read(open_store(typed.store));
  return {words.begin(), words.end()};
}

}  // namespace

Words files(const Typed& typed) {
  return beside(typed.last, [](const std::string&) { return true; });
}

Words folders(const Typed& typed) {
  return beside(typed.last, [](const std::string&) { return false; });
}

Words recipes(const Typed& typed) {
  return beside(typed.last, [](const std::string& name) { return name.ends_with(".toml"); });
}

Words runs(const Typed& typed) {
  return stored(typed, [](const Store& store) {
    std::set<std::string> words;
    for (const RunRow& run : store.runs()) words.insert({run.folder, run.name});
    if (!words.empty()) words.insert({"@last", "@best"});
    return words;
  });
}

Words recipes_and_runs(const Typed& typed) {
  Words words = recipes(typed);
  const Words more = offered(runs, typed);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words removed_runs(const Typed& typed) {
  return stored(typed, [](const Store& store) {
    std::set<std::string> words;
    for (const RunRow& run : store.removed_runs()) words.insert(run.folder);
    return words;
  });
}

Words tags(const Typed& typed) {
  return stored(typed, [](const Store& store) {
    std::set<std::string> words;
    for (const RunRow& run : store.runs())
      for (const std::string& tag : words_of_list(run.tags)) words.insert(tag);
    return words;
  });
}

Words series(const Typed& typed) {
  return stored(typed, [](const Store& store) {
    const Words names = store.series_names();
    return std::set<std::string>(names.begin(), names.end());
  });
}

Words sweeps(const Typed& typed) {
  return stored(typed, [](const Store& store) {
    std::set<std::string> ids{"@last"};
    for (const SweepRow& sweep : store.sweeps()) ids.insert(std::to_string(sweep.id));
    return ids;
  });
}

Offer one_of(Words words) {
  return [words = std::move(words)](const Typed&) { return words; };
}

Offer list_of(Words words) {
  return [words = std::move(words)](const Typed& typed) {
    Words lists = words;
    for (std::string& list : lists) list = typed.last.substr(0, typed.last.rfind(',') + 1) + list;
    return lists;
  };
}

}  // namespace offer

namespace {

bool is_option(const std::string& word) {
  return word.size() > 1 && word.starts_with('-');
}

}  // namespace

void Places::add_word(Offer offer, bool again) {
  words_.push_back({std::move(offer), again});
}

void Places::add_option(const std::string& name, bool takes_value, Offer offer) {
  options_.push_back({name, takes_value, std::move(offer)});
}

Words Places::option_names() const {
  Words names;
  for (const Option& option : options_) names.push_back(option.name);
  names.insert(names.end(), {"--store", "--quiet", "--verbose", "--help"});
  return names;
}

const Places::Option* Places::option_of(const std::string& word) const {
  const std::string name = word.substr(0, word.find('='));
  for (const Option& option : options_)
    if (option.name == name) return &option;
  return nullptr;
}

Words Places::offered(Words words) const {
  if (words.empty()) words.emplace_back();
  Typed typed{words.back(), {}, {}};
  words.pop_back();
  typed.store = take_globals(words).store;
  const Option* waiting = nullptr;  // for its value
  for (const std::string& word : words) {
    const bool is_value = std::exchange(waiting, nullptr) != nullptr;
    if (is_value) continue;
    const Option* option = is_option(word) ? option_of(word) : nullptr;
    if (option && option->takes_value && word.find('=') == word.npos) waiting = option;
    if (!is_option(word)) typed.before.push_back(word);
  }
  if (waiting) return exprun::offered(waiting->offer, typed);
  if (typed.last.starts_with('-')) return offered_options(std::move(typed));
  const size_t turn = typed.before.size();
  if (turn < words_.size()) return exprun::offered(words_[turn].offer, typed);
  return !words_.empty() && words_.back().again ? exprun::offered(words_.back().offer, typed)
                                                : Words{};
}

// Their names; after "--diff=" the values.
Words Places::offered_options(Typed typed) const {
  const size_t equals = typed.last.find('=');
  if (equals == typed.last.npos) return option_names();
  const Option* option = option_of(typed.last);
  if (!option || !option->takes_value) return {};
  const std::string start = typed.last.substr(0, equals + 1);
  typed.last.erase(0, equals + 1);
  Words values = exprun::offered(option->offer, typed);
  for (std::string& value : values) value = start + value;
  return values;
}

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

// `words` are those after the command's name, with the unfinished one.
void complete_command(const Command& command, const Words& words, const Globals& globals) {
  if (command.subcommands && words.size() > 1) {
    if (const Command* below = find_command(command.subcommands(), words[0]))
      return complete_command(*below, {words.begin() + 1, words.end()}, globals);
  } else if (command.subcommands) {
    Words names = names_of(command.subcommands());
    if (command.is_group && words[0].starts_with('-')) names.emplace_back("--help");
    std::erase_if(names, [&](const std::string& name) { return !name.starts_with(words[0]); });
    print_candidates(names);
  }
  if (command.is_group) return;
  Words asked = {kCandidates, kStore + ("=" + globals.store.path.string())};
  add(asked, words);
  command.run(asked, globals);
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
