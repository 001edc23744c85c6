#include "control/data/read/chunk_texts.h"

#include <algorithm>

#include "base/diagnostic.h"

namespace exprun {
namespace {

RecipeError wrong(const Chunk& chunk, int64_t place, int64_t line, const Error& error) {
  if (!chunk.json) return {chunk.where, error.what()};
  const std::string in_line = line > 0 ? "(line " + std::to_string(line) + ") " : "";
  return {chunk.where, "data: record " + std::to_string(place) + " of '" + chunk.file + "' " +
                           in_line + error.what()};
}

constexpr size_t kAhead = 2048, kCacheLine = 64;

// Another core read the chunk: its bytes further on are asked for while these are parsed.
void prefetch(std::string_view rest, size_t size) {
  for (size_t at = kAhead; at < std::min(kAhead + size, rest.size()); at += kCacheLine)
    __builtin_prefetch(rest.data() + at);
}

}  // namespace

void for_each_text(const Chunk& chunk, const RecordTemplate& text,
                   const std::function<void(const Piece&, std::string_view)>& visit) {
  std::string_view rest = chunk.bytes;
  RecordRoom room;
  int64_t place = chunk.first_place;
  for (const Piece& piece : chunk.pieces) try {
      const std::string_view bytes = rest.substr(0, piece.size);
      rest.remove_prefix(piece.size);
      prefetch(rest, piece.size);
      chunk.json ? visit(piece, text.fill(bytes, room)) : visit(piece, bytes);
      place += piece.ends;
    } catch (const Error& error) {
      throw wrong(chunk, place, piece.line, error);
    }
}

}  // namespace exprun
