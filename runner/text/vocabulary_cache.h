// Vocabularies that were read before, as tables below the user's cache folder: to read GPT-2's
// takes 10 ms, a tokenizer.json of 128,000 tokens 200, and to map their tables one. A cache only:
// what is damaged is read again, what cannot be written is dropped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "text/bpe_tables.h"

namespace exprun {

class VocabularyCache {
 public:
  // An entry is named by the content of the files, how they are read, and the build of the program.
  explicit VocabularyCache(std::vector<std::filesystem::path> files);

  std::optional<BpeTables> find() const;
  // What was read of the files; dropped where they have changed meanwhile.
  void keep(const BpeTables& tables) const;

 private:
  std::vector<std::filesystem::path> files_;
  std::string content_;         // empty where one cannot be read
  std::filesystem::path file_;  // empty where none can be
};

}  // namespace exprun
