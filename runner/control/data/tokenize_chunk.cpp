#include "control/data/tokenize_chunk.h"

#include "base/diagnostic.h"

namespace exprun {

ChunkTokenizer::ChunkTokenizer(const Tokenizer& tokenizer, const RecordTemplate& text,
                               EndOfText policy)
    : template_(text),
      policy_(policy),
      end_of_text_(tokenizer.end_of_text().value_or(0)),
      encoder_(tokenizer.make_encoder()) {}

TokenizedChunk ChunkTokenizer::operator()(const Chunk& chunk) {
  TokenizedChunk out;
  out.tokens.reserve(chunk.bytes.size() / 2);
  std::string_view rest = chunk.bytes;
  int64_t place = chunk.first_place;
  for (const Piece& piece : chunk.pieces) {
    add(chunk, piece, rest.substr(0, piece.size), place, out);
    rest.remove_prefix(piece.size);
    place += piece.ends;
  }
  return out;
}

void ChunkTokenizer::add(const Chunk& chunk, const Piece& piece, std::string_view bytes,
                         int64_t place, TokenizedChunk& out) try {
  const size_t before = out.tokens.size();
  if (piece.begins && policy_ == EndOfText::before) out.tokens.push_back(end_of_text_);
  if (chunk.json) {
    const std::string text = template_.fill(bytes);
    encoder_->encode(text, out.tokens);
    out.text_bytes += static_cast<int64_t>(text.size());
  } else {
    encoder_->encode(bytes, out.tokens);
    out.text_bytes += static_cast<int64_t>(bytes.size());
  }
  if (piece.ends && policy_ == EndOfText::after) out.tokens.push_back(end_of_text_);
  out.documents += piece.begins;
  out.runs.push_back({out.tokens.size() - before, piece.ends, piece.part});
} catch (const Error& error) {
  if (!chunk.json) throw;
  throw Error("data: record " + std::to_string(place) + " of '" + chunk.file + "' " + error.what());
}

}  // namespace exprun
