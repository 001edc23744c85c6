#include "support/coded_text.h"

#include <fstream>
#include <iterator>
#include <set>

namespace exprun {

CodedText code_characters(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const std::set<char> characters(text.begin(), text.end());
  std::string coded;
  for (const char c : text) {
    coded.push_back(static_cast<char>(std::distance(characters.begin(), characters.find(c))));
    coded.push_back(0);
  }
  const size_t train = text.size() * 9 / 10 * 2;
  return {coded.substr(0, train), coded.substr(train)};
}

}  // namespace exprun
