// Which text is kept for validation, and the documents cut where it begins: by the rules that count
// documents or text. Files that are named for it have their split from the beginning, and so many
// tokens (validation_tokens) are taken when there are tokens: ShardSetWriter. Which rule a recipe
// asks for: choose_rule in control/data/text_sources.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "control/data/read/records.h"
#include "text/prepared_data.h"

namespace exprun {

struct ChunkOptions;
struct RawSource;

struct SplitOptions {
  int64_t validation_every = 0;      // every k-th document; 0 none
  int64_t validation_from = -1;      // the unit with which validation begins; -1 none
  bool units_are_characters = true;  // of texts, or bytes
  bool records_are_units = true;     // of JSON, or bytes
};

// A record, or what one split has of it.
struct SplitRecord {
  Record record;
  Split split = Split::train;
  bool is_rest = false;  // begins, but in the middle of a document that the split point divides
};

// Deals out the records of all sources, in order.
class RecordSplitter {
 public:
  // `options` outlive it.
  explicit RecordSplitter(const SplitOptions& options) : options_(options) {}

  // `split`: of the file's documents, as far as the options say nothing of them.
  void begin_file(Split split, bool json);

  // What each split has of the record, in order: mostly one has all of it. Valid until the next
  // call.
  std::span<const SplitRecord> divide(const Record& record);

 private:
  Split split_of_document() const;
  void divide_text(const Record& record, int64_t split_point, int64_t units);
  void add(const Record& record, Split split, bool is_rest = false);

  const SplitOptions& options_;
  bool json_ = false;
  Split split_ = Split::train;
  int64_t document_ = 0, unit_ = 0;
  bool validation_begun_ = false;
  std::array<SplitRecord, 2> divided_;
  size_t count_ = 0;
};

// Sets options.split.validation_from for the last `fraction` of the training sources: all of their
// text is counted. Its units become bytes where the place is the same and nothing is left to count
// then. Throws RecipeError, Error.
void find_split_point(const std::vector<RawSource>& sources, double fraction, size_t threads,
                      ChunkOptions& options);

// Characters or bytes of a text.
int64_t units_in(std::string_view text, bool characters);

// The bytes of the first `units` of a text.
size_t bytes_of_units(std::string_view text, int64_t units, bool characters);

// Of a JSON record.
int64_t units_in_record(size_t bytes, const SplitOptions& split);

}  // namespace exprun
