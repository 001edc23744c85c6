#include "control/command/line/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/strings.h"
#include "control/command/line/offer.h"
#include "control/command/line/unknown_option.h"
#include "control/report/standard_output.h"
#include "recipe/sweep/sweep_values.h"

namespace exprun {

const std::vector<ExitCode> kEveryExitCode = {ExitCode::done,
                                              ExitCode::failed,
                                              ExitCode::bad_recipe,
                                              ExitCode::diverged,
                                              ExitCode::no_such_run,
                                              ExitCode::store_error,
                                              ExitCode::failed_trials,
                                              ExitCode::preempted,
                                              ExitCode::interrupted_int,
                                              ExitCode::interrupted_term};
const std::vector<ExitCode> kFindsRuns = {ExitCode::done, ExitCode::bad_recipe,
                                          ExitCode::no_such_run, ExitCode::store_error};
const std::vector<ExitCode> kReadsRuns = {ExitCode::done, ExitCode::failed, ExitCode::bad_recipe,
                                          ExitCode::no_such_run, ExitCode::store_error};
const std::vector<ExitCode> kTrains = {
    ExitCode::done,      ExitCode::failed,          ExitCode::bad_recipe,
    ExitCode::diverged,  ExitCode::no_such_run,     ExitCode::store_error,
    ExitCode::preempted, ExitCode::interrupted_int, ExitCode::interrupted_term};

const char* meaning(ExitCode code) {
  switch (code) {
    case ExitCode::done:
      return "done";
    case ExitCode::failed:
      return "failed";
    case ExitCode::bad_recipe:
      return "invalid recipe or command line";
    case ExitCode::diverged:
      return "diverged: a loss or gradient norm is NaN, inf or an outlier";
    case ExitCode::no_such_run:
      return "no such run";
    case ExitCode::store_error:
      return "the store cannot be read or written";
    case ExitCode::failed_trials:
      return "the sweep ended with trials that failed or were killed";
    case ExitCode::lost_ranks:
      return "a rank has lost the others";
    case ExitCode::preempted:
      return "saved; can be continued";
    case ExitCode::interrupted_int:
    case ExitCode::interrupted_term:
      return "saved after a signal; can be continued";
  }
  return "";
}

namespace {

constexpr size_t kHelpColumn = 26;

// Two columns; the help's further lines stand below its first.
std::string help_line(std::string left, const std::string& help) {
  left = "  " + left;
  left += left.size() < kHelpColumn ? std::string(kHelpColumn - left.size(), ' ') : "  ";
  return left + wrapped(help, kHelpColumn, left.size()) + '\n';
}

// "--csv" of "-c,--csv"
std::string long_name(const std::string& names) {
  return names.substr(names.rfind('-') == names.npos ? 0 : names.find("--"));
}

}  // namespace

struct Arguments::Impl {
  CLI::App app;
  std::string usage, description;
  std::string on_more_words;
  std::string positionals, options, notes, codes, examples;  // lines of the help
  Places places;
  std::vector<CLI::Option*> never_empty;
  std::vector<std::pair<std::string, const std::vector<std::string>*>> needed;  // by their names

  // "show"; what runs a recipe has no name of its own.
  std::string command() const {
    const std::string first = usage.substr(0, usage.find(' '));
    return first == "RECIPE" ? "exprun" : first;
  }

  void add_word(const std::string& name, const std::string& help, Offer offer, bool again = false) {
    positionals += help_line(name, help);
    places.add_word(std::move(offer), again);
  }

  void add_option(const std::string& names, const std::string& value, const std::string& help,
                  Offer offer = {}) {
    std::string left;
    for (const char c : names) left += c == ',' ? std::string(", ") : std::string(1, c);
    options += help_line(value.empty() ? left : left + ' ' + value, help);
    places.add_option(long_name(names), !value.empty(), std::move(offer));
  }

  std::string help() const {
    std::string text = wrapped(description) + "\n\nUsage: exprun " + usage + "\n\n" + positionals;
    if (!positionals.empty()) text += '\n';
    text += "Options:\n" + options +
            help_line("--store DIR", "folder of runs (default: EXPRUN_STORE, or runs/)") +
            help_line("-q, --quiet", "print only warnings and errors") +
            help_line("-v, --verbose", "print more") + help_line("-h, --help", "print this help");
    if (!notes.empty()) text += '\n' + notes;
    if (!codes.empty()) text += "\nExit codes:\n" + codes;
    return examples.empty() ? text : text + "\nExamples:\n" + examples;
  }

  [[noreturn]] void refuse(std::string message) const {
    const std::string who = command() == "exprun" ? "" : command() + ": ";  // said anyway
    throw Error(who + message + "\n  usage: exprun " + usage, ExitCode::bad_recipe);
  }

  // As a shell makes it of a variable that is not set.
  void refuse_empty() const {
    for (const CLI::Option* option : never_empty)
      if (option->count() > 0 && option->results().back().empty())
        refuse(option->get_name() + " is empty");
    for (const auto& [name, words] : needed)
      if (std::find(words->begin(), words->end(), "") != words->end()) refuse(name + " is empty");
  }

  void refuse_missing() const {
    for (const auto& [name, words] : needed)
      if (words->empty()) refuse(name + " is missing");
  }

  // CLI11 takes many words for the value of a flag: "--json=3", and "--json=no" for none.
  void refuse_values_of_flags(const std::vector<std::string>& words) const {
    bool is_value = false;  // of the option before it
    for (const std::string& word : words) {
      if (word == "--" && !is_value) return;
      const std::string name = word.substr(0, word.find('='));
      const bool is_option = !is_value && name.starts_with('-');
      const CLI::Option* const option = is_option ? app.get_option_no_throw(name) : nullptr;
      const bool is_flag = option != nullptr && option->get_items_expected_max() == 0;
      if (is_flag && name != word) refuse(name + " takes no value");
      is_value = option != nullptr && !is_flag && name == word;
    }
  }

  // CLI11 names what it could not place.
  [[noreturn]] void refuse_extras(const std::vector<std::string>& words) const {
    const std::string extra = app.remaining().front();
    const auto at = std::find(words.begin(), words.end(), extra);
    const bool is_last = at == words.end() || at + 1 == words.end();
    if (!extra.starts_with('-')) refuse("unexpected '" + extra + "'" + on_more_words);
    refuse("unknown option '" + extra + "'" +
           advice_on_option(extra, is_last ? "" : at[1], command(), usage, places.option_names()));
  }
};

Arguments::Arguments(std::string usage, std::string description) : impl_(std::make_unique<Impl>()) {
  impl_->usage = std::move(usage);
  impl_->description = std::move(description);
  impl_->app.set_help_flag("-h,--help");
  impl_->app.allow_extras();
}

Arguments::~Arguments() = default;

Arguments& Arguments::word(const std::string& name, std::string& into, const std::string& help,
                           Offer offer) {
  impl_->never_empty.push_back(impl_->app.add_option(name, into)->required());
  impl_->add_word(name, help, std::move(offer));
  return *this;
}

Arguments& Arguments::run_word(std::string& into) {
  return word("RUN", into, kRunHelp, offer::runs);
}

Arguments& Arguments::optional_word(const std::string& name, std::string& into,
                                    const std::string& help, Offer offer) {
  impl_->never_empty.push_back(impl_->app.add_option(name, into));
  impl_->add_word(name, help, std::move(offer));
  return *this;
}

Arguments& Arguments::words(const std::string& name, std::vector<std::string>& into,
                            const std::string& help, Offer offer) {
  impl_->app.add_option("words", into);
  impl_->add_word(name, help, std::move(offer), true);
  return *this;
}

Arguments& Arguments::needed_words(const std::string& name, std::vector<std::string>& into,
                                   const std::string& help, Offer offer) {
  impl_->needed.emplace_back(name.substr(0, name.find('.')), &into);  // "PATH" of "PATH..."
  return words(name, into, help, std::move(offer));
}

Arguments& Arguments::form(const std::string& name, const std::string& help) {
  impl_->positionals += help_line(name, help);
  return *this;
}

Arguments& Arguments::flag(const std::string& names, bool& into, const std::string& help) {
  impl_->app.add_flag(names, into);
  impl_->add_option(names, "", help);
  return *this;
}

Arguments& Arguments::option(const std::string& names, const std::string& value, std::string& into,
                             const std::string& help, Offer offer) {
  CLI::Option* const option = impl_->app.add_option(names, into);
  if (value != "TEXT") impl_->never_empty.push_back(option);
  impl_->add_option(names, value, help, std::move(offer));
  return *this;
}

Arguments& Arguments::option(const std::string& names, const std::string& value,
                             std::vector<std::string>& into, const std::string& help, Offer offer) {
  impl_->app.add_option(names, into)->allow_extra_args(false);
  impl_->add_option(names, value, help, std::move(offer));
  return *this;
}

Arguments& Arguments::list(const std::string& names, const std::string& value,
                           std::vector<std::string>& into, const std::string& help, Offer offer) {
  const auto read = [&into](const std::vector<std::string>& given) {
    for (const std::string& text : given)
      for (ListPart& part : split_list(text, 0, text.size())) into.push_back(std::move(part.text));
  };
  impl_->app.add_option_function<std::vector<std::string>>(names, read)->allow_extra_args(false);
  impl_->add_option(names, value, help, std::move(offer));
  return *this;
}

void Arguments::add_number(const std::string& names, std::function<void(int64_t)> set,
                           const std::string& help, int64_t least) {
  const auto read = [this, names, set = std::move(set), least](const std::string& text) {
    const auto value = parse_number<int64_t>(text);
    if (!value || *value < least)
      impl_->refuse(long_name(names) + " takes a whole number of at least " +
                    std::to_string(least) + ", not '" + text + "'");
    set(*value);
  };
  impl_->app.add_option_function<std::string>(names, read);
  impl_->add_option(names, "N", help);
}

Arguments& Arguments::number(const std::string& names, int64_t& into, const std::string& help,
                             int64_t least) {
  add_number(
      names, [&into](int64_t value) { into = value; }, help, least);
  return *this;
}

Arguments& Arguments::number(const std::string& names, std::optional<int64_t>& into,
                             const std::string& help, int64_t least) {
  add_number(
      names, [&into](int64_t value) { into = value; }, help, least);
  return *this;
}

Arguments& Arguments::example(const std::string& line, const std::string& what) {
  impl_->examples += "  " + line + '\n' + "      " + what + '\n';
  return *this;
}

Arguments& Arguments::advice_on_more_words(const std::string& text) {
  impl_->on_more_words = "; " + text;
  return *this;
}

Arguments& Arguments::note(const std::string& text) {
  impl_->notes += wrapped(text) + '\n';
  return *this;
}

Arguments& Arguments::exit_codes(const std::vector<ExitCode>& codes) {
  for (const ExitCode code : codes)
    impl_->codes += help_line(std::to_string(static_cast<int>(code)), meaning(code));
  if (std::find(codes.begin(), codes.end(), ExitCode::preempted) != codes.end())
    impl_->codes += help_line(kKilled, kMeaningOfKilled);
  return *this;
}

bool Arguments::parse(const std::vector<std::string>& words) {
  if (!words.empty() && words[0] == kCandidates) {
    print_candidates(impl_->places.offered({words.begin() + 1, words.end()}));
    return false;
  }
  impl_->refuse_values_of_flags(words);
  try {
    impl_->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    print(impl_->help());
    return false;
  } catch (const CLI::RequiredError& error) {
    if (impl_->app.remaining_size() > 0) impl_->refuse_extras(words);  // it may have been meant so
    const std::string what = error.what();                             // "RECIPE is required"
    impl_->refuse(what.substr(0, what.find(' ')) + " is missing");
  } catch (const CLI::ArgumentMismatch& error) {
    // "--nnodes: 1 required TEXT missing", "--top: At Most 1 required but received 2"
    const std::string what = error.what();
    const bool are_several = what.find(" received ") != what.npos;
    impl_->refuse(what.substr(0, what.find(':')) +
                  (are_several ? " is given more than once" : " needs a value"));
  } catch (const CLI::ParseError& error) {
    impl_->refuse(error.what());
  }
  if (impl_->app.remaining_size() > 0) impl_->refuse_extras(words);
  impl_->refuse_missing();
  impl_->refuse_empty();
  return true;
}

namespace {

constexpr const char* kStoreOption = "--store";

std::string store_from_environment() {
  const char* const folder = std::getenv("EXPRUN_STORE");
  return folder && *folder ? folder : kUsualStore;
}

std::string command_line_of(const Words& words) {
  std::string line = "exprun";
  for (const std::string& word : words) line += ' ' + shell_quoted(word);
  return line;
}

// "runs/" is "runs".
std::filesystem::path without_slash(const std::filesystem::path& folder) {
  return folder.has_filename() ? folder : folder.parent_path();
}

// Where the system would find it: ".." behind a symbolic link is not the folder of the link.
std::filesystem::path found_at(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(folder, error);
  if (error)
    throw Error("command line: the working directory cannot be found (" + error.message() +
                "); change to a folder that exists");
  if (std::find(path.begin(), path.end(), "..") == path.end())
    return without_slash(path.lexically_normal());
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target;
}

void require_folder(const StoreFolder& store) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(store.path, error)) return;
  const StoreFolder around = {store.path.parent_path(), store.shown.parent_path()};
  const std::string folder = around.shown.empty() ? "." : shell_quoted(around.shown.string());
  const bool is_database = store.path == around.database();
  throw Error("store: '" + store.shown.string() + "' is a file; a store is a folder: " +
                  (is_database ? "--store " + folder : "choose one with --store DIR"),
              ExitCode::store_error);
}

}  // namespace

Globals take_globals(Words& words) {
  Globals globals;
  globals.command_line = command_line_of(words);
  std::string store = store_from_environment();
  Words rest;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (word == "-q" || word == "--quiet") {
      globals.level = LogLevel::warning;
    } else if (word == "-v" || word == "--verbose") {
      globals.level = LogLevel::debug;
    } else if (word.starts_with(std::string(kStoreOption) + '=')) {
      store = word.substr(std::string(kStoreOption).size() + 1);
    } else if (word == kStoreOption) {
      store = i + 1 < words.size() ? words[++i] : "";
    } else {
      rest.push_back(word);
    }
  }
  if (store.empty()) throw Error("command line: --store needs a folder", ExitCode::bad_recipe);
  globals.store = {found_at(store), without_slash(store)};
  require_folder(globals.store);
  words = std::move(rest);
  return globals;
}

}  // namespace exprun
