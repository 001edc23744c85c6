#include "control/data/read/document_chunks.h"

#include <algorithm>
#include <memory>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/hash.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

class Chunker {
 public:
  Chunker(const ChunkOptions& options, const std::function<void(Chunk&)>& use)
      : splitter_(options.split), use_(use) {}

  void begin_file(const RawSource& source, bool json) {
    source_ = &source.source;
    json_ = json;
    splitter_.begin_file(source.split, json);
    place_ = 0;
  }

  // `position`: how much of the file was read for it.
  void add(const Record& record, int64_t position) {
    position_ = position;
    for (const SplitRecord& piece : splitter_.divide(record)) add_piece(piece);
  }

  void end_file(int64_t bytes) {
    if (!chunk_.pieces.empty()) flush();
    read_before_ += bytes;
  }

 private:
  void begin_chunk(size_t bytes) {
    chunk_.json = json_;
    chunk_.file = source_->file.string();
    chunk_.where = source_->where;
    chunk_.first_place = place_ + 1;
    // The last record goes beyond, by little mostly; memory of one size is used again.
    chunk_.bytes.reserve(kChunkBytes + std::max(kChunkBytes, bytes));
  }

  void flush() {
    chunk_.bytes_read = read_before_ + position_;
    use_(chunk_);
    chunk_.bytes.clear();
    chunk_.pieces.clear();
  }

  void add_piece(const SplitRecord& piece) {
    const Record& record = piece.record;
    if (chunk_.pieces.empty()) begin_chunk(record.bytes.size());
    if (record.begins) ++place_;
    chunk_.bytes += record.bytes;
    chunk_.pieces.push_back(
        {record.bytes.size(), record.begins, record.ends, piece.split, piece.is_rest, record.line});
    if (chunk_.bytes.size() >= kChunkBytes || chunk_.pieces.size() >= kChunkPieces) flush();
  }

  RecordSplitter splitter_;
  const std::function<void(Chunk&)>& use_;
  Chunk chunk_;
  const Source* source_ = nullptr;
  bool json_ = false;
  int64_t place_ = 0, position_ = 0, read_before_ = 0;
};

// What is wrong in a source is shown at the path that named it; a disk's failure is no mistake
// there.
template <class Read>
auto read_at(const Source& source, Read read) try {
  return read();
} catch (const FileError&) {
  throw;
} catch (const Error& error) {
  throw RecipeError(Diagnostics{problem_at(source.where, error)});
}

// The content of all sources, from the hashes of their files.
class ContentHash {
 public:
  void add(Split split, const std::string& hash_of_file) {
    hasher_.update(split == Split::train ? "train " : "validation ");
    hasher_.update(hash_of_file);
  }
  std::string hex() const { return hasher_.hex(); }

 private:
  Hasher hasher_;
};

bool is_text(const RawSource& source, const RecordOptions& options) {
  return format_of_file(source.source.file, options.format) == "text";
}

// The reader, when `use` has had all records.
template <class Use>
std::unique_ptr<RecordReader> read_file_records(const RawSource& source,
                                                const RecordOptions& options, Use use) {
  auto reader = read_at(source.source, [&] { return open_records(source.source.file, options); });
  Record record;
  while (read_at(source.source, [&] { return reader->next(record); })) use(record, *reader);
  return reader;
}

void read_file_chunks(const RawSource& source, const ChunkOptions& options, Chunker& chunker,
                      SourcesRead& read) {
  const bool text = is_text(source, options.records);
  chunker.begin_file(source, !text);
  const auto use = [&](const Record& record, const RecordReader& reader) {
    chunker.add(record, reader.stream().position());
  };
  const auto reader = read_file_records(source, options.records, use);
  chunker.end_file(reader->stream().position());
  read.texts += text;
  read.separators += reader->separators();
  read.files.push_back({reader->stream().position(), reader->stream().hash()});
}

RecipeError wrong(const Chunk& chunk, int64_t place, int64_t line, const Error& error) {
  if (!chunk.json) return {chunk.where, "'" + chunk.file + "' " + error.what()};
  const std::string in_line = line > 0 ? "(line " + std::to_string(line) + ") " : "";
  return {chunk.where,
          "record " + std::to_string(place) + " of '" + chunk.file + "' " + in_line + error.what()};
}

constexpr size_t kAhead = 2048, kCacheLine = 64;

// Another core read the chunk: its bytes further on are asked for while these are parsed.
void prefetch(std::string_view rest, size_t size) {
  for (size_t at = kAhead; at < std::min(kAhead + size, rest.size()); at += kCacheLine)
    __builtin_prefetch(rest.data() + at);
}

}  // namespace

int64_t count_units(const std::vector<RawSource>& sources, const ChunkOptions& options,
                    const ShowBytes& show) {
  int64_t units = 0, read_before = 0;
  size_t unshown = 0;
  for (const RawSource& source : sources) {
    const bool text = is_text(source, options.records);
    const auto count = [&](const Record& record, const RecordReader& reader) {
      units += text ? units_in(record.bytes, options.split.units_are_characters)
                    : units_in_record(record.bytes.size(), options.split);
      if ((unshown += record.bytes.size() + 1) < kChunkBytes) return;
      show(read_before + reader.stream().position());
      unshown = 0;
    };
    read_before += read_file_records(source, options.records, count)->stream().position();
  }
  return units;
}

SourcesRead read_chunks(const std::vector<RawSource>& sources, const ChunkOptions& options,
                        const std::function<void(Chunk&)>& use) {
  Chunker chunker(options, use);
  SourcesRead read;
  ContentHash content;
  for (const RawSource& source : sources) {
    read_file_chunks(source, options, chunker, read);
    content.add(source.split, read.files.back().hash);
  }
  read.content = content.hex();
  return read;
}

int64_t file_bytes(const std::vector<RawSource>& sources) {
  int64_t bytes = 0;
  for (const RawSource& source : sources) {
    std::error_code error;
    const auto size = fs::file_size(source.source.file, error);
    if (!error) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

std::string content_of(const std::vector<RawSource>& sources, const ShowBytes& show) {
  ContentHash content;
  int64_t read_before = 0, read = 0;
  for (const RawSource& source : sources) {
    content.add(source.split, read_at(source.source, [&] {
                  return hash_of_file(source.source.file,
                                      [&](int64_t bytes) { show(read = read_before + bytes); });
                }));
    read_before = read;
  }
  return content.hex();
}

void for_each_piece(const Chunk& chunk,
                    const std::function<void(const Piece&, std::string_view)>& visit) {
  std::string_view rest = chunk.bytes;
  int64_t place = chunk.first_place;
  for (const Piece& piece : chunk.pieces) try {
      const std::string_view bytes = rest.substr(0, piece.size);
      rest.remove_prefix(piece.size);
      prefetch(rest, piece.size);
      visit(piece, bytes);
      place += piece.ends;
    } catch (const Error& error) {
      throw wrong(chunk, place, piece.line, error);
    }
}

void for_each_text(const Chunk& chunk, const RecordTemplate& text,
                   const std::function<void(const Piece&, std::string_view)>& visit) {
  if (!chunk.json) return for_each_piece(chunk, visit);
  RecordRoom room;
  for_each_piece(chunk, [&](const Piece& piece, std::string_view record) {
    visit(piece, text.fill(record, room));
  });
}

}  // namespace exprun
