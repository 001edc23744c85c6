#include "text/bpe/added_tokens.h"

#include <algorithm>
#include <utility>

#include "text/unicode/nfc.h"

namespace exprun {
namespace {

class AddedEncoder final : public Encoder {
 public:
  AddedEncoder(const AddedTokens& added, std::unique_ptr<Encoder> words)
      : added_(added), words_(std::move(words)) {}

  void encode(std::string_view text, TokenSink& tokens) override {
    added_.encode(text, *words_, tokens);
  }

 private:
  const AddedTokens& added_;
  std::unique_ptr<Encoder> words_;
};

}  // namespace

void AddedTokens::Group::add(const AddedToken& token) {
  if (tokens.empty()) common = token.text;
  const auto differ =
      std::mismatch(common.begin(), common.end(), token.text.begin(), token.text.end());
  common.erase(differ.first, common.end());
  const auto shorter = std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken& other) {
    return other.text.size() < token.text.size();
  });
  tokens.insert(shorter, token);
}

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, bool composes)
    : composes_(composes) {
  for (const AddedToken& token : tokens) {
    stages_[token.normalized].by_byte[static_cast<unsigned char>(token.text[0])].add(token);
    longest_ = std::max(longest_, token.text.size());
    any_ |= !token.special;
  }
}

bool AddedTokens::may_cover(std::string_view text, size_t place) const {
  const size_t first = place - std::min(place, longest_);
  for (const Stage& stage : stages_)
    for (size_t begin = first; begin < place; ++begin) {
      const std::string_view rest = text.substr(begin);
      for (const AddedToken& token : stage.by_byte[static_cast<unsigned char>(rest[0])].tokens)
        if (begin + token.text.size() > place &&
            rest.starts_with(std::string_view(token.text).substr(0, rest.size())))
          return true;
    }
  return false;
}

AddedTokens::Match AddedTokens::Stage::find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    const Group& group = by_byte[static_cast<unsigned char>(text[begin])];
    if (group.tokens.empty() || !text.substr(begin).starts_with(group.common)) continue;
    for (const AddedToken& token : group.tokens)
      if (text.substr(begin).starts_with(token.text))
        return {begin, begin + token.text.size(), &token};
  }
  return {text.size(), text.size(), nullptr};
}

// `use` takes what lies between the matches.
template <class Use>
void AddedTokens::split(const Stage& stage, std::string_view text, TokenSink& tokens, Use use) {
  size_t done = 0;
  for (Match match = stage.find(text, 0); match.token; match = stage.find(text, match.end)) {
    if (match.token->special) continue;
    if (match.begin > done) use(text.substr(done, match.begin - done));
    tokens.append({&match.token->id, 1});
    done = match.end;
  }
  if (done < text.size()) use(text.substr(done));
}

void AddedTokens::encode(std::string_view text, Encoder& words, TokenSink& tokens) const {
  std::string composed;
  split(stages_[0], text, tokens, [&](std::string_view part) {
    if (composes_) part = to_nfc(part, composed);
    split(stages_[1], part, tokens, [&](std::string_view rest) { words.encode(rest, tokens); });
  });
}

std::unique_ptr<Encoder> with_added_tokens(const AddedTokens& added,
                                           std::unique_ptr<Encoder> words) {
  if (added.leave_text()) return words;
  return std::make_unique<AddedEncoder>(added, std::move(words));
}

}  // namespace exprun
