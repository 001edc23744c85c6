#include "control/command/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "base/diagnostic.h"
#include "base/suggest.h"
#include "control/report/terminal.h"
#include "control/report/wrapped.h"

namespace exprun {
namespace {

constexpr size_t kHelpColumn = 26;
constexpr const char* kListOptions = "--list-options";

// Two columns; the help's further lines stand below its first.
std::string help_line(std::string left, const std::string& help) {
  left = "  " + left;
  left += left.size() < kHelpColumn ? std::string(kHelpColumn - left.size(), ' ') : "  ";
  return left + wrapped(help, kHelpColumn, left.size()) + '\n';
}

const char* meaning(ExitCode code) {
  switch (code) {
    case ExitCode::done:
      return "done";
    case ExitCode::failed:
      return "it failed";
    case ExitCode::bad_recipe:
      return "a mistake in the recipe or the command line";
    case ExitCode::diverged:
      return "the loss is no number any more";
    case ExitCode::no_such_run:
      return "no such run";
    case ExitCode::store_error:
      return "the store cannot be used";
    case ExitCode::failed_trials:
      return "the sweep ended, and trials failed";
    case ExitCode::lost_ranks:
      return "a rank has lost the others";
    case ExitCode::preempted:
      return "saved; run the same line again";
    case ExitCode::interrupted_int:
    case ExitCode::interrupted_term:
      return "saved after a signal; the same line continues";
  }
  return "";
}

// "--csv" of "-c,--csv"
std::string long_name(const std::string& names) {
  return names.substr(names.rfind('-') == names.npos ? 0 : names.find("--"));
}

}  // namespace

struct Arguments::Impl {
  CLI::App app;
  std::string usage, description;
  std::string positionals, options, notes, codes, examples;  // lines of the help
  std::vector<std::string> option_names;

  // "show"; what runs a recipe has no name of its own.
  std::string command() const {
    const std::string first = usage.substr(0, usage.find(' '));
    return first == "RECIPE" ? "exprun" : first;
  }

  void add_option_help(const std::string& names, const std::string& value,
                       const std::string& help) {
    std::string left;
    for (const char c : names) left += c == ',' ? std::string(", ") : std::string(1, c);
    options += help_line(value.empty() ? left : left + ' ' + value, help);
    option_names.push_back(long_name(names));
  }

  std::string help() const {
    std::string text = wrapped(description) + "\n\nUsage: exprun " + usage + "\n\n" + positionals;
    if (!positionals.empty()) text += '\n';
    text += "Options:\n" + options +
            help_line("--store DIR", "folder of runs (default: EXPRUN_STORE, else runs/)") +
            help_line("-q, --quiet", "warnings and errors only") +
            help_line("-v, --verbose", "say more") + help_line("-h, --help", "this text");
    if (!notes.empty()) text += '\n' + notes;
    if (!codes.empty()) text += "\nExit codes:\n" + codes;
    return examples.empty() ? text : text + "\nExamples:\n" + examples;
  }

  std::string names_of_options() const {
    std::string text;
    for (const std::string& name : option_names) text += name + '\n';
    return text + "--store\n--quiet\n--verbose\n--help\n";
  }

  [[noreturn]] void refuse(std::string message) const {
    throw Error(command() + ": " + message + "\n  usage: exprun " + usage, ExitCode::bad_recipe);
  }

  // CLI11 names what it could not place; the nearest option is ours to say.
  [[noreturn]] void refuse_extras() const {
    const std::string extra = app.remaining().front();
    if (!extra.starts_with('-')) refuse("unexpected '" + extra + "'");
    auto near = nearest(extra, option_names);
    const bool takes_changes = usage.find("key=value") != std::string::npos;
    if (!near && takes_changes && extra.find('=') != std::string::npos)
      near = extra.substr(extra.find_first_not_of('-'));
    refuse("unknown option '" + extra + "'" + (near ? ", did you mean '" + *near + "'?" : ""));
  }
};

Arguments::Arguments(std::string usage, std::string description) : impl_(std::make_unique<Impl>()) {
  impl_->usage = std::move(usage);
  impl_->description = std::move(description);
  impl_->app.set_help_flag("-h,--help");
  impl_->app.allow_extras();
}

Arguments::~Arguments() = default;

Arguments& Arguments::word(const std::string& name, std::string& into, const std::string& help) {
  impl_->app.add_option(name, into)->required();
  impl_->positionals += help_line(name, help);
  return *this;
}

Arguments& Arguments::optional_word(const std::string& name, std::string& into,
                                    const std::string& help) {
  impl_->app.add_option(name, into);
  impl_->positionals += help_line(name, help);
  return *this;
}

Arguments& Arguments::words(const std::string& name, std::vector<std::string>& into,
                            const std::string& help) {
  impl_->app.add_option("words", into);
  impl_->positionals += help_line(name, help);
  return *this;
}

Arguments& Arguments::form(const std::string& name, const std::string& help) {
  impl_->positionals += help_line(name, help);
  return *this;
}

Arguments& Arguments::flag(const std::string& names, bool& into, const std::string& help) {
  impl_->app.add_flag(names, into);
  impl_->add_option_help(names, "", help);
  return *this;
}

Arguments& Arguments::option(const std::string& names, const std::string& value, std::string& into,
                             const std::string& help) {
  impl_->app.add_option(names, into);
  impl_->add_option_help(names, value, help);
  return *this;
}

Arguments& Arguments::option(const std::string& names, const std::string& value,
                             std::vector<std::string>& into, const std::string& help) {
  impl_->app.add_option(names, into)->allow_extra_args(false);
  impl_->add_option_help(names, value, help);
  return *this;
}

void Arguments::add_number(const std::string& names, std::function<void(int64_t)> set,
                           const std::string& help) {
  const auto read = [this, names, set = std::move(set)](const std::string& text) {
    int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < 0)
      impl_->refuse(long_name(names) + " takes a whole number, not '" + text + "'");
    set(value);
  };
  impl_->app.add_option_function<std::string>(names, read);
  impl_->add_option_help(names, "N", help);
}

Arguments& Arguments::number(const std::string& names, int64_t& into, const std::string& help) {
  add_number(
      names, [&into](int64_t value) { into = value; }, help);
  return *this;
}

Arguments& Arguments::number(const std::string& names, std::optional<int64_t>& into,
                             const std::string& help) {
  add_number(
      names, [&into](int64_t value) { into = value; }, help);
  return *this;
}

Arguments& Arguments::example(const std::string& line, const std::string& what) {
  impl_->examples += "  " + line + '\n' + "      " + what + '\n';
  return *this;
}

Arguments& Arguments::note(const std::string& text) {
  impl_->notes += wrapped(text) + '\n';
  return *this;
}

Arguments& Arguments::exit_codes(const std::vector<ExitCode>& codes) {
  for (const ExitCode code : codes)
    impl_->codes += help_line(std::to_string(static_cast<int>(code)), meaning(code));
  return *this;
}

bool Arguments::parse(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{kListOptions}) {
    print(impl_->names_of_options());
    return false;
  }
  try {
    impl_->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    print(impl_->help());
    return false;
  } catch (const CLI::RequiredError& error) {
    const std::string what = error.what();  // "RECIPE is required"
    impl_->refuse(what.substr(0, what.find(' ')) + " is missing");
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();  // "--nnodes: 1 required TEXT missing"
    impl_->refuse(what.substr(0, what.find(':')) + " needs a value");
  } catch (const CLI::ParseError& error) {
    impl_->refuse(error.what());
  }
  if (impl_->app.remaining_size() > 0) impl_->refuse_extras();
  return true;
}

}  // namespace exprun
