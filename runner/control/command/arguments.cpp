#include "control/command/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/diagnostic.h"
#include "base/suggest.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

constexpr size_t kHelpColumn = 26;
constexpr size_t kWidth = 80;

std::string help_line(std::string left, const std::string& help) {
  left = "  " + left;
  left += left.size() < kHelpColumn ? std::string(kHelpColumn - left.size(), ' ') : "  ";
  return left + help + '\n';
}

// Broken between words into lines of a terminal's usual width.
std::string wrapped(const std::string& text) {
  std::string out;
  size_t column = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (column && column + 1 + (end - begin) > kWidth) {
      out += '\n';
      column = 0;
    }
    if (column) out += ' ';
    out += text.substr(begin, end - begin);
    column += (column ? 1 : 0) + end - begin;
    begin = end + 1;
  }
  return out;
}

// "--csv" of "-c,--csv"
std::string long_name(const std::string& names) {
  return names.substr(names.rfind('-') == names.npos ? 0 : names.find("--"));
}

}  // namespace

struct Arguments::Impl {
  CLI::App app;
  std::string usage, description;
  std::string positionals, options, examples;  // lines of the help
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
    return examples.empty() ? text : text + "\nExamples:\n" + examples;
  }

  [[noreturn]] void refuse(std::string message) const {
    throw Error(command() + ": " + message + "\n  usage: exprun " + usage, ExitCode::bad_recipe);
  }

  // CLI11 names what it could not place; the nearest option is ours to say.
  [[noreturn]] void refuse_extras() const {
    const std::string extra = app.remaining().front();
    if (!extra.starts_with('-')) refuse("unexpected '" + extra + "'");
    const auto near = nearest(extra, option_names);
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

Arguments& Arguments::number(const std::string& names, int64_t& into, const std::string& help) {
  impl_->app.add_option(names, into)->check(CLI::NonNegativeNumber);
  impl_->add_option_help(names, "N", help);
  return *this;
}

Arguments& Arguments::example(const std::string& line, const std::string& what) {
  impl_->examples += "  " + line + '\n' + "      " + what + '\n';
  return *this;
}

bool Arguments::parse(const std::vector<std::string>& words) {
  try {
    impl_->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    print(impl_->help());
    return false;
  } catch (const CLI::RequiredError&) {
    impl_->refuse("something is missing");
  } catch (const CLI::ParseError& error) {
    impl_->refuse(error.what());
  }
  if (impl_->app.remaining_size() > 0) impl_->refuse_extras();
  return true;
}

}  // namespace exprun
