#include "control/data/chunk_tokenizer.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "text/examples.h"
#include "text/token_shard.h"

namespace exprun {

ChunkTokenizer::ChunkTokenizer(const Tokenizer& tokenizer, const TextForm& form,
                               const EndOfTextRule& rule, Stretches stretches)
    : form_(form),
      rule_(rule),
      begin_of_text_(tokenizer.bounds().begin),
      end_of_text_(tokenizer.end_of_text()),
      token_bytes_(token_bytes_for(tokenizer.vocab_size())),
      stretches_(stretches),
      encoder_(tokenizer.make_encoder()) {
  for (auto& [text, token] : tokenizer.special_tokens()) special_tokens_.emplace(text, token);
  if (!begin_of_text_) return;
  const int64_t token = *begin_of_text_;
  begin_ = tokenizer.decode({&token, 1});
}

void ChunkTokenizer::tokenize(const Chunk& chunk, TokenizedChunk& out) {
  out.tokens.clear(token_bytes_);
  out.stretches.clear();
  for (auto& segments : out.segments) segments.clear();
  out.documents = out.text_bytes = 0;
  // More than most texts become: memory of one size is used again.
  out.tokens.reserve(std::max(kChunkBytes, chunk.bytes.size() / 2));
  form_.example ? tokenize_examples(chunk, out) : tokenize_texts(chunk, out);
}

void ChunkTokenizer::tokenize_texts(const Chunk& chunk, TokenizedChunk& out) {
  const EndOfText policy = chunk.json ? rule_.of_records : rule_.of_texts;
  for_each_text(chunk, *form_.text, [&](const Piece& piece, std::string_view text) {
    const size_t before = out.tokens.size();
    append_text(piece, text, policy, out.tokens);
    out.text_bytes += static_cast<int64_t>(text.size());
    out.documents += piece.begins && !piece.is_rest;
    add_to_stretch(piece, out.tokens.size() - before, out);
  });
}

void ChunkTokenizer::tokenize_examples(const Chunk& chunk, TokenizedChunk& out) {
  for_each_piece(chunk, [&](const Piece& piece, std::string_view record) {
    const auto parts = form_.example->fill(record);
    const size_t before = out.tokens.size();
    append_example(parts, out, out.segments[static_cast<int>(piece.split)]);
    for (const ExamplePart& part : parts) out.text_bytes += static_cast<int64_t>(part.text.size());
    ++out.documents;
    add_to_stretch(piece, out.tokens.size() - before, out);
  });
}

// A vocabulary that was made of other texts may lack a character of these.
void ChunkTokenizer::encode(std::string_view text, PackedTokens& out) try {
  encoder_->encode(text, out);
} catch (const UnknownCharacter& error) {
  throw Error("cannot be tokenized: " + std::string(error.what()) +
              "; replace it in the data, or train a new model whose tokenizer has it");
} catch (const Error& error) {
  throw Error("cannot be tokenized: " + std::string(error.what()));
}

// A document begins as a prompt does when the model is used (Tokenizer::encode_prompt). One token
// for both ends of a text, and one that the text begins with, stand there once.
void ChunkTokenizer::append_text(const Piece& piece, std::string_view text, EndOfText policy,
                                 PackedTokens& out) {
  if (piece.begins && policy == EndOfText::before && begin_of_text_ != end_of_text_)
    out.append({&*end_of_text_, 1});
  if (piece.begins && begin_of_text_) {
    out.append({&*begin_of_text_, 1});
    if (text.starts_with(begin_)) text.remove_prefix(begin_.size());
  }
  encode(text, out);
  if (piece.ends && policy == EndOfText::after) out.append({&*end_of_text_, 1});
}

// Texts that follow one another become tokens as one text, as a prompt does when the model is used;
// where learning begins or ends, and beside special tokens, tokens end.
void ChunkTokenizer::append_example(const std::vector<ExamplePart>& parts, TokenizedChunk& out,
                                    std::vector<uint32_t>& segments) {
  std::string text;
  size_t begin = out.tokens.size();
  bool is_learned = false;
  const auto end_text = [&] {
    if (!text.empty()) encode(text, out.tokens);
    text.clear();
  };
  const auto end_segment = [&](bool ends_example) {
    end_text();
    const auto tokens = static_cast<int64_t>(out.tokens.size() - begin);
    if (tokens >= kMostSegmentTokens) throw Error("has too many tokens for an example");
    if (tokens > 0 || ends_example) segments.push_back(to_word({tokens, is_learned, ends_example}));
    begin = out.tokens.size();
  };
  for (const ExamplePart& part : parts) {
    if (part.is_learned != is_learned) end_segment(false);
    is_learned = part.is_learned;
    std::optional<uint32_t> token;
    if (part.kind == ExamplePart::Kind::end_of_text) token = end_of_text_;
    if (part.kind == ExamplePart::Kind::special)
      if (const auto found = special_tokens_.find(part.text); found != special_tokens_.end())
        token = found->second;
    if (!token) {
      text += part.text;
      continue;
    }
    end_text();
    out.tokens.append({&*token, 1});
  }
  end_segment(true);
}

void ChunkTokenizer::add_to_stretch(const Piece& piece, size_t tokens, TokenizedChunk& out) const {
  if (out.stretches.empty() || stretches_ == Stretches::of_documents ||
      out.stretches.back().split != piece.split)
    out.stretches.push_back({0, piece.ends, piece.split});
  out.stretches.back().tokens += tokens;
}

}  // namespace exprun
