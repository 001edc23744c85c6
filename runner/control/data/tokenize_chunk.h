// One chunk of documents as tokens, with the token that stands between documents.
#pragma once

#include <optional>

#include "control/data/document_chunks.h"
#include "control/data/record_template.h"
#include "text/tokenizer.h"

namespace exprun {

enum class EndOfText { none, before, after };

struct TokenizedChunk {
  struct Run {
    size_t tokens = 0;
    bool ends = true;
    Part part = Part::train;
  };
  Tokens tokens;
  std::vector<Run> runs;
  int64_t documents = 0;   // that begin in it
  int64_t text_bytes = 0;  // of the documents
};

class ChunkTokenizer {
 public:
  ChunkTokenizer(const Tokenizer& tokenizer, const RecordTemplate& text, EndOfText policy);

  // Throws Error that names the record.
  TokenizedChunk operator()(const Chunk& chunk);

 private:
  void add(const Chunk& chunk, const Piece& piece, std::string_view bytes, int64_t place,
           TokenizedChunk& out);

  const RecordTemplate& template_;
  EndOfText policy_;
  uint32_t end_of_text_;
  std::unique_ptr<Encoder> encoder_;
};

}  // namespace exprun
