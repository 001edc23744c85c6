#include "control/data/tokenize_chunk.h"

#include <algorithm>

#include "control/data/read/chunk_texts.h"
#include "text/token_shard.h"

namespace exprun {

ChunkTokenizer::ChunkTokenizer(const Tokenizer& tokenizer, const RecordTemplate& text,
                               const EndOfTextRule& rule, Stretches stretches)
    : template_(text),
      rule_(rule),
      end_of_text_(tokenizer.end_of_text().value_or(0)),
      token_bytes_(token_bytes_for(tokenizer.vocab_size())),
      stretches_(stretches),
      encoder_(tokenizer.make_encoder()) {}

void ChunkTokenizer::tokenize(const Chunk& chunk, TokenizedChunk& out) {
  out.tokens.clear(token_bytes_);
  out.stretches.clear();
  out.documents = out.text_bytes = 0;
  // More than most texts become: memory of one size is used again.
  out.tokens.reserve(std::max(kChunkBytes, chunk.bytes.size() / 2));
  const EndOfText policy = chunk.json ? rule_.of_records : rule_.of_texts;
  for_each_text(chunk, template_, [&](const Piece& piece, std::string_view text) {
    const size_t before = out.tokens.size();
    if (piece.begins && policy == EndOfText::before) out.tokens.append({&end_of_text_, 1});
    encoder_->encode(text, out.tokens);
    if (piece.ends && policy == EndOfText::after) out.tokens.append({&end_of_text_, 1});
    out.text_bytes += static_cast<int64_t>(text.size());
    out.documents += piece.begins && !piece.is_rest;
    if (out.stretches.empty() || stretches_ == Stretches::of_documents ||
        out.stretches.back().part != piece.part)
      out.stretches.push_back({0, piece.ends, piece.part});
    out.stretches.back().tokens += out.tokens.size() - before;
  });
}

}  // namespace exprun
