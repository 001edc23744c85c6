#include "text/bpe_tables.h"

#include "text/vocabulary_cache.h"

namespace exprun {

BpeTables load_bpe_tables(const std::filesystem::path& path) {
  const auto files = vocabulary_files(path);
  const VocabularyCache cache(files);
  if (auto known = cache.find()) return std::move(*known);
  const BpeVocabulary vocabulary = read_bpe_vocabulary(files);
  BpeTables tables{vocabulary, TokenTable(vocabulary.tokens), MergeTable(vocabulary.merges), {}};
  cache.keep(tables);
  return tables;
}

}  // namespace exprun
