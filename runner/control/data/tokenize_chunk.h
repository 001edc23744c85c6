// One chunk of documents as tokens, with the token that stands between documents.
#pragma once

#include <optional>

#include "control/data/read/document_chunks.h"
#include "control/data/read/record_template.h"
#include "text/packed_tokens.h"
#include "text/tokenizer.h"

namespace exprun {

enum class EndOfText { none, before, after };

struct EndOfTextRule {
  EndOfText of_texts = EndOfText::none, of_records = EndOfText::none;
};

// Of documents that need not be told apart, all neighbours of one part are one stretch.
enum class Stretches { of_documents, of_parts };

struct TokenizedChunk {
  struct Stretch {
    size_t tokens = 0;
    bool ends = true;
    Part part = Part::train;
  };
  PackedTokens tokens;
  std::vector<Stretch> stretches;
  int64_t documents = 0;   // that begin in it
  int64_t text_bytes = 0;  // of the documents
};

class ChunkTokenizer {
 public:
  ChunkTokenizer(const Tokenizer& tokenizer, const RecordTemplate& text, const EndOfTextRule& rule,
                 Stretches stretches);

  // Into `out`, whose memory is used again. Throws RecipeError, as for_each_text.
  void tokenize(const Chunk& chunk, TokenizedChunk& out);

 private:
  const RecordTemplate& template_;
  EndOfTextRule rule_;
  uint32_t end_of_text_;
  int64_t token_bytes_;
  Stretches stretches_;
  std::unique_ptr<Encoder> encoder_;
};

}  // namespace exprun
