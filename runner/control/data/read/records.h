// The documents of one source, in order: of a text the parts between separators, of JSON its
// records. Memory is bounded: a long text comes in several pieces, cut where tokens are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "control/data/read/byte_stream.h"

namespace exprun {

// Where long texts and chunks of documents are cut; a preparation that goes on must cut alike.
// Small enough that text and tokens stay in a core's cache between the threads' steps, and that
// documents of nothing are not without end.
inline constexpr size_t kChunkBytes = size_t{1} << 18;
inline constexpr size_t kChunkPieces = size_t{1} << 14;

struct Record {
  std::string_view bytes;  // valid until the next call
  bool begins = true;      // a document begins with it,
  bool ends = true;        // and ends with it
  int64_t line = 0;        // of JSON Lines, from 1
};

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // False at the end. Throws Error that names the file and the place.
  virtual bool next(Record& record) = 0;
  // What of the file itself was read so far.
  virtual const ByteStream& stream() const = 0;
  // Of a text: how many ended a document so far.
  virtual int64_t separators() const { return 0; }
};

struct RecordOptions {
  std::string format;  // text, json_lines, json; auto: by the name, as far as the bytes allow it
  std::string separator;
  bool keep_separator = false;
  std::function<size_t(std::string_view)> safe_cut;  // Tokenizer::safe_cut
};

// As it is written, or for "auto" by the name of a file: "json_lines" for a.JSONL.gz, "text" for
// what is not known.
std::string format_of_file(const std::filesystem::path& file, const std::string& written);

std::unique_ptr<RecordReader> open_records(const std::filesystem::path& file,
                                           const RecordOptions& options);

// One reader a format; open_records (records.h) chooses among them.

// `options` outlives the reader.
std::unique_ptr<RecordReader> open_text(const std::filesystem::path& file,
                                        const RecordOptions& options);
std::unique_ptr<RecordReader> open_json_lines(const std::filesystem::path& file);
std::unique_ptr<RecordReader> open_json_array(const std::filesystem::path& file);

}  // namespace exprun
