// What may stand at a place of a command line: the arguments of commands say it, shells complete
// it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "control/command/command.h"
#include "control/launch/store_folder.h"

namespace exprun {

// A command line where it is being typed.
struct Typed {
  std::string last;                 // the unfinished word, maybe empty
  std::vector<std::string> before;  // of the words before it those that are no options
  StoreFolder store;
};

// All words that fit the place: the shell keeps what begins like the last word. A folder ends in
// '/', a key in '='. One that throws Error or RecipeError (a recipe with mistakes) offers nothing.
using Offer = std::function<std::vector<std::string>(const Typed&)>;

// What an offer has; nothing where there is none, or it throws.
std::vector<std::string> offered(const Offer& offer, const Typed& typed);

namespace offer {

std::vector<std::string> files(const Typed& typed);
std::vector<std::string> folders(const Typed& typed);
std::vector<std::string> recipes(const Typed& typed);
std::vector<std::string> runs(const Typed& typed);
std::vector<std::string> recipes_and_runs(const Typed& typed);
std::vector<std::string> removed_runs(const Typed& typed);
std::vector<std::string> tags(const Typed& typed);
std::vector<std::string> series(const Typed& typed);
std::vector<std::string> sweeps(const Typed& typed);

// These words; as lists, the words of one after the commas of the last.
Offer one_of(std::vector<std::string> words);
Offer list_of(std::vector<std::string> words);

}  // namespace offer

// The places of a command's line, and what is offered at each.
class Places {
 public:
  // A word in its turn; one that comes `again` is every further word too.
  void add_word(Offer offer, bool again);
  // An option, "--diff", with a value or without.
  void add_option(const std::string& name, bool takes_value, Offer offer);

  std::vector<std::string> option_names() const;  // those of every command among them

  // What fits as the last of these words, which may be empty; `--store` among them counts.
  std::vector<std::string> offered(std::vector<std::string> typed) const;

 private:
  struct Word {
    Offer offer;
    bool again;
  };
  struct Option {
    std::string name;
    bool takes_value;
    Offer offer;
  };

  std::vector<std::string> offered_options(Typed typed) const;
  const Option* option_of(const std::string& word) const;

  std::vector<Word> words_;
  std::vector<Option> options_;
};

// What fits where a command line is being typed, for the completion of shells.

// `typed` is the line after "exprun"; its last word is the unfinished one, maybe empty. Prints all
// that fits the place.
void complete(Words typed);

// Prints one candidate on each line; leaves out those that contain line breaks.
void print_candidates(const Words& candidates);

}  // namespace exprun
