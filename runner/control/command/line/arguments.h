// What one command takes: declared, parsed, and shown by --help. CLI11 is behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "control/command/command.h"
#include "control/command/line/offer.h"

namespace exprun {

// The exit codes as help tells of them, and those that many commands share.

// "no such run"
const char* meaning(ExitCode code);

// Of what trains, when no code is left to choose.
inline constexpr const char* kKilled = "128 + N";
inline constexpr const char* kMeaningOfKilled = "a trainer was killed by signal N";

// Of all commands together.
extern const std::vector<ExitCode> kEveryExitCode;
// What looks runs up in the store has only these.
extern const std::vector<ExitCode> kFindsRuns;
// Also reads or changes what runs have left.
extern const std::vector<ExitCode> kReadsRuns;
// Trains a run of the store.
extern const std::vector<ExitCode> kTrains;

// The first word to a command that asks what fits as the last of the words after it.
inline constexpr const char* kCandidates = "--candidates";

// What names a run, several runs, or a sweep, for help.
inline constexpr const char* kRunHelp =
    "its id, uid, folder or name (the newest run with that name), tried in this order, "
    "or @last or @best";
inline constexpr const char* kRunsHelp =
    "ids, uids, folders, names (all runs with that name), @last, @best, or 'mine-*'";
inline constexpr const char* kSweepHelp = "its number, uid or name, or @last";

// The store where neither --store nor EXPRUN_STORE names one.
inline constexpr const char* kUsualStore = "runs";

class Arguments {
 public:
  // `usage` is what stands after "exprun": "show RECIPE|RUN".
  Arguments(std::string usage, std::string description);
  ~Arguments();

  // `offer` completes a word, or the value of an option.
  Arguments& word(const std::string& name, std::string& into, const std::string& help,
                  Offer offer = {});
  Arguments& run_word(std::string& into);
  Arguments& optional_word(const std::string& name, std::string& into, const std::string& help,
                           Offer offer = {});
  Arguments& words(const std::string& name, std::vector<std::string>& into, const std::string& help,
                   Offer offer = {});
  // The same, where there must be one; none may be empty.
  Arguments& needed_words(const std::string& name, std::vector<std::string>& into,
                          const std::string& help, Offer offer = {});
  // A line of help for what a word of `words` may also be.
  Arguments& form(const std::string& name, const std::string& help);
  Arguments& flag(const std::string& names, bool& into, const std::string& help);
  Arguments& option(const std::string& names, const std::string& value, std::string& into,
                    const std::string& help, Offer offer = {});
  // May be given again and again, a value each time.
  Arguments& option(const std::string& names, const std::string& value,
                    std::vector<std::string>& into, const std::string& help, Offer offer = {});
  // The same, where a value may also be several, "a,b"; a comma in quotes or brackets is its own.
  Arguments& list(const std::string& names, const std::string& value,
                  std::vector<std::string>& into, const std::string& help, Offer offer = {});
  Arguments& number(const std::string& names, int64_t& into, const std::string& help,
                    int64_t least = 0);
  Arguments& number(const std::string& names, std::optional<int64_t>& into, const std::string& help,
                    int64_t least = 0);
  Arguments& example(const std::string& line, const std::string& what);
  // What is said with a word too many.
  Arguments& advice_on_more_words(const std::string& text);
  // A paragraph below the options.
  Arguments& note(const std::string& text);
  Arguments& exit_codes(const std::vector<ExitCode>& codes);

  // False if the answer is printed: --help, or kCandidates. Throws Error (wrong usage).
  bool parse(const std::vector<std::string>& words);

 private:
  void add_number(const std::string& names, std::function<void(int64_t)> set,
                  const std::string& help, int64_t least);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Takes the options that every command has out of a command line, wherever they stand.

// `words` keeps the rest. Words after "--" are left alone. Throws Error (wrong usage).
Globals take_globals(Words& words);

}  // namespace exprun
