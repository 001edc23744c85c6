#include "control/command/places.h"

#include "control/command/globals.h"

namespace exprun {
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

// Their names; behind "--diff=" the values.
Words Places::offered_options(Typed typed) const {
  const size_t equals = typed.last.find('=');
  if (equals == typed.last.npos) {
    Words names = option_names();
    names.insert(names.end(), {"--store", "--quiet", "--verbose", "--help"});
    return names;
  }
  const Option* option = option_of(typed.last);
  if (!option || !option->takes_value) return {};
  const std::string start = typed.last.substr(0, equals + 1);
  typed.last.erase(0, equals + 1);
  Words values = exprun::offered(option->offer, typed);
  for (std::string& value : values) value = start + value;
  return values;
}

}  // namespace exprun
