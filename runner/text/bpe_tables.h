// A BPE vocabulary in the form that encoding and decoding read: flat tables, which can be written
// to a file and mapped as they lie.
#pragma once

#include <filesystem>
#include <optional>

#include "base/mapped_file.h"
#include "text/bpe_vocabulary.h"
#include "text/merge_table.h"
#include "text/token_table.h"

namespace exprun {

struct BpeTables : BpeRules {
  TokenTable tokens;
  MergeTable merges;
  std::optional<MappedFile> file;  // that they lie in
};

// Of a file or folder: those of read_bpe_vocabulary, with its errors; out of the cache from the
// second time on (vocabulary_cache.h).
BpeTables load_bpe_tables(const std::filesystem::path& path);

}  // namespace exprun
