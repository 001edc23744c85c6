// The places of a command's line, and what is offered at each.
#pragma once

#include <string>
#include <vector>

#include "control/command/offer.h"

namespace exprun {

class Places {
 public:
  // A word in its turn; one that comes `again` is every further word too.
  void add_word(Offer offer, bool again);
  // An option, "--diff", with a value or without.
  void add_option(const std::string& name, bool takes_value, Offer offer);

  std::vector<std::string> option_names() const;

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

}  // namespace exprun
