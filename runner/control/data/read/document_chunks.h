// The documents of all sources as chunks of about kChunkBytes and at most kChunkPieces, each piece
// with its split: what is handed to the threads that tokenize. Chunks depend on the sources and the
// options alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "control/data/read/record_template.h"
#include "control/data/read/records.h"
#include "control/data/read/split.h"
#include "control/data/sources/sources.h"

namespace exprun {

struct Piece {
  size_t size = 0;  // bytes of the chunk
  bool begins = true, ends = true;
  Split split = Split::train;
  bool is_rest = false;  // begins, but in the middle of a document that the split point divides
  int64_t line = 0;      // of JSON Lines, from 1
};

struct Chunk {
  std::string bytes;
  std::vector<Piece> pieces;
  bool json = false;
  std::string file;         // of all its pieces,
  SourceSpan where;         // and the path that named it
  int64_t first_place = 0;  // of the first piece in the file, from 1
  int64_t bytes_read = 0;   // of all files so far, packed as they are
};

struct RawSource {
  Source source;
  Split split = Split::train;
};

struct ChunkOptions {
  RecordOptions records;
  SplitOptions split;
};

struct FileRead {
  int64_t bytes = 0;  // packed as they are
  std::string hash;   // 32 hex digits of them
};

struct SourcesRead {
  int64_t texts = 0, separators = 0;  // text files, and what ended documents in them
  std::vector<FileRead> files;        // one a source
  std::string content;                // as content_of() of the sources
};

// Calls `use` for each chunk; the memory of what it leaves there, another chunk for one, is filled
// again. Throws RecipeError at the path of a source that is damaged, Error where the disk fails,
// and what `use` throws.
SourcesRead read_chunks(const std::vector<RawSource>& sources, const ChunkOptions& options,
                        const std::function<void(Chunk&)>& use);

// Of all of them as they lie, packed or not; standard input counts as none.
int64_t file_bytes(const std::vector<RawSource>& sources);

// 32 hex digits of what the files hold, with their parts, in order; names do not count. Throws
// RecipeError for what cannot be opened, Error where the disk fails.
std::string content_of(const std::vector<RawSource>& sources, const ShowBytes& show);

// The units of all sources (split.h), as the records are read. Throws as read_chunks().
int64_t count_units(const std::vector<RawSource>& sources, const ChunkOptions& options,
                    const ShowBytes& show);

// What is wrong with a piece, found here or by `visit` ("is not JSON"), is a RecipeError at the
// path that named the file; of a JSON record it names the record.

// The pieces of a chunk as they were read.
void for_each_piece(const Chunk& chunk,
                    const std::function<void(const Piece&, std::string_view)>& visit);

// The texts of a chunk: JSON records are filled in a template, what is text already stays.
void for_each_text(const Chunk& chunk, const RecordTemplate& text,
                   const std::function<void(const Piece&, std::string_view)>& visit);

}  // namespace exprun
