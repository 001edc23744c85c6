#include "control/data/survey.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "base/utf8.h"
#include "control/data/byte_progress.h"
#include "control/data/named_tokenizer.h"
#include "control/data/read/chunk_texts.h"
#include "text/char_tokenizer.h"

namespace exprun {
namespace {

// Lines and bytes of a file that went by, for the place of a mistake.
struct Progress {
  int64_t bytes = 0, lines = 0;

  void pass(std::string_view text) {
    bytes += static_cast<int64_t>(text.size());
    lines += std::count(text.begin(), text.end(), '\n');
  }
};

// At the key `tokenizer`: bytes would do where characters cannot.
void check_utf8(const Section& dataset, const Chunk& chunk, const Progress& before) {
  const auto byte = first_invalid_byte(chunk.bytes);
  if (!byte) return;
  Progress until = before;
  until.pass(std::string_view(chunk.bytes).substr(0, *byte));
  throw dataset.error("tokenizer",
                      "'" + chunk.file + "' is not UTF-8: byte " + std::to_string(until.bytes) +
                          ", in line " + std::to_string(until.lines + 1),
                      "write tokenizer = \"byte\", or convert the file");
}

// Pieces end at the ends of characters, where there are no separators to lose.
std::unique_ptr<Tokenizer> char_tokenizer(const Section& dataset, const TextOptions& options,
                                          const std::vector<RawSource>& sources) {
  const RecordTemplate text(options.text_template, options.fallback_template);
  const auto cutter = make_char_tokenizer(U"");
  ChunkOptions chunks;
  chunks.records = {options.format, options.separator, true,
                    [&](std::string_view bytes) { return cutter->safe_cut(bytes); }};
  CharacterSet characters;
  std::string file;
  Progress before;
  ByteProgress progress("reading characters", file_bytes(sources));
  const auto use = [&](const Chunk& chunk) {
    progress.show(chunk.bytes_read);
    if (chunk.json)
      return for_each_text(chunk, text,
                           [&](const Piece&, std::string_view bytes) { characters.add(bytes); });
    if (chunk.file != file) before = {};
    file = chunk.file;
    check_utf8(dataset, chunk, before);
    characters.add(chunk.bytes);
    before.pass(chunk.bytes);
  };
  read_chunks(sources, chunks, use);
  try {
    return make_char_tokenizer(characters.sorted());
  } catch (const Error& error) {
    throw dataset.error("tokenizer", error.what());
  }
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const Section& dataset, const TextOptions& options,
                                          const std::vector<RawSource>& sources) {
  if (options.tokenizer == "byte") return make_byte_tokenizer();
  if (options.tokenizer == "char") return char_tokenizer(dataset, options, sources);
  return load_named_tokenizer(dataset, options.tokenizer, options.vocabulary);
}

bool are_mixed(const std::vector<RawSource>& sources, const std::string& format) {
  const auto is_text = [&](const RawSource& source) {
    return format_of_file(source.source.file, format) == "text";
  };
  const auto texts = std::count_if(sources.begin(), sources.end(), is_text);
  return texts > 0 && texts < static_cast<ptrdiff_t>(sources.size());
}

}  // namespace exprun
