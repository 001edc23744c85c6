#include "text/long_word.h"

#include <algorithm>

#include "text/merge_word.h"

namespace exprun {

void LongWord::encode(std::string_view word, Tokens& tokens) {
  const size_t first = tokens.size();
  size_t done = 0, farthest = 0;         // bytes
  size_t size = piece_bytes_, back = 1;  // of the next piece; tokens to take back where it fits not
  while (done < word.size()) {
    const std::string_view bytes = word.substr(done, size);
    merge(bytes, piece_);
    if (tokens.size() > first && !fits_behind(tokens.back(), piece_.front())) {
      done -= take_back(tokens, std::min(back, tokens.size() - first));
      size *= 2;
      back *= 2;
      continue;
    }
    tokens.insert(tokens.end(), piece_.begin(), piece_.end());
    done += bytes.size();
    if (done == word.size()) return;
    done -= take_back(tokens, std::min(unsure_, piece_.size() / 2));
    if (done <= farthest) {  // else it could come back here again and again
      size *= 2;
      continue;
    }
    farthest = done;
    size = piece_bytes_;
    back = 1;
  }
}

void LongWord::merge(std::string_view bytes, Tokens& tokens) const {
  tokens.clear();
  for (const char byte : bytes)
    tokens.push_back(tables_.byte_tokens[static_cast<unsigned char>(byte)]);
  merge_word(tables_.merges, tokens);
}

bool LongWord::fits_behind(uint32_t left, uint32_t right) {
  merge(std::string(tables_.tokens[left]).append(tables_.tokens[right]), pair_);
  return pair_ == Tokens{left, right};
}

size_t LongWord::take_back(Tokens& tokens, size_t count) const {
  size_t bytes = 0;
  for (; count > 0; --count) {
    bytes += tables_.tokens[tokens.back()].size();
    tokens.pop_back();
  }
  return bytes;
}

}  // namespace exprun
