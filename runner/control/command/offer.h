// What may stand at a place of a command line: the arguments of commands say it, shells complete
// it.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

// These words; as lists, the words of one behind the commas of the last.
Offer one_of(std::vector<std::string> words);
Offer list_of(std::vector<std::string> words);

}  // namespace offer
}  // namespace exprun
