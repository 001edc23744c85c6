// Turns chunks of documents into tokens, in each of several threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/data/read/document_chunks.h"
#include "control/data/read/record_template.h"
#include "control/data/text_sources.h"
#include "text/example_template.h"
#include "text/tokenizer.h"

namespace exprun {

// Where the token for the end of a text stands.
enum class EndOfText { none, before, after };

struct EndOfTextRule {
  EndOfText of_texts = EndOfText::none, of_records = EndOfText::none;
};

// What becomes of the pieces of a chunk: exactly one is there.
struct TextForm {
  std::optional<RecordTemplate> text;      // of documents
  std::optional<ExampleTemplate> example;  // of examples of instructions

  explicit TextForm(const TextOptions& options) {
    if (options.example_template.empty())
      text.emplace(options.text_template, options.fallback_template);
    else
      example.emplace(options.example_template);
  }
};

// Of documents that need not be told apart, all neighbours of one split are one stretch.
enum class Stretches { of_documents, of_splits };

// One chunk of documents as tokens.
struct TokenizedChunk {
  struct Stretch {
    size_t tokens = 0;
    bool ends = true;
    Split split = Split::train;
  };
  PackedTokens tokens;
  std::vector<Stretch> stretches;
  std::vector<uint32_t> segments[2];  // of examples, in words, of each split
  int64_t documents = 0;              // that begin in it
  int64_t text_bytes = 0;             // of the documents
};

class ChunkTokenizer {
 public:
  ChunkTokenizer(const Tokenizer& tokenizer, const TextForm& form, const EndOfTextRule& rule,
                 Stretches stretches);

  // Into `out`, whose memory is used again. Throws RecipeError, as for_each_text.
  void tokenize(const Chunk& chunk, TokenizedChunk& out);

 private:
  void tokenize_texts(const Chunk& chunk, TokenizedChunk& out);
  void tokenize_examples(const Chunk& chunk, TokenizedChunk& out);
  void encode(std::string_view text, PackedTokens& out);
  void append_text(const Piece& piece, std::string_view text, EndOfText policy, PackedTokens& out);
  void append_example(const std::vector<ExamplePart>& parts, TokenizedChunk& out,
                      std::vector<uint32_t>& segments);
  void add_to_stretch(const Piece& piece, size_t tokens, TokenizedChunk& out) const;

  const TextForm& form_;
  EndOfTextRule rule_;
  std::optional<uint32_t> begin_of_text_, end_of_text_;
  std::string begin_;  // the text of that token
  std::map<std::string, uint32_t> special_tokens_;
  int64_t token_bytes_;
  Stretches stretches_;
  std::unique_ptr<Encoder> encoder_;
};

}  // namespace exprun
