// Public data that can be fetched by name: where it lies, how large it is, what it becomes. Sizes
// and checksums of Shakespeare and the tokenizer are those of files that were at hand; the others,
// and that anything is at any of the addresses, are as public code says: no test has opened one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace exprun {

struct CatalogueFile {
  std::string address;
  std::string path;     // below the data folder
  int64_t bytes = 0;    // 0: not known
  std::string sha256;   // empty: not known
  bool tokens = false;  // a token shard: its header says whether it is whole
};

struct CatalogueEntry {
  const char* name;
  const char* what;
  const char* licence;
  int64_t shards;  // training shards, of which some may be asked for; 0: it has none
  std::vector<CatalogueFile> (*files)(int64_t shards);
};

std::span<const CatalogueEntry> catalogue();

// null if there is none
const CatalogueEntry* find_in_catalogue(const std::string& name);

// What to do where an address is given for a path.
inline constexpr const char* kDownloadFirst =
    "download it and give its path; `exprun data fetch` lists what it can download";

// The command that brings a missing file, or files of a pattern, if their names are known.
std::optional<std::string> command_to_get(const std::string& pattern);

}  // namespace exprun
