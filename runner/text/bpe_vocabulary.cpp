#include "text/bpe_vocabulary.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "text/vocabulary_readers.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

struct Pair {
  const char* merges;
  const char* ids;
};
constexpr Pair kPairs[] = {{"vocab.bpe", "encoder.json"}, {"merges.txt", "vocab.json"}};

std::vector<fs::path> files_in(const fs::path& folder) {
  for (const Pair& pair : kPairs)
    if (fs::exists(folder / pair.merges) && fs::exists(folder / pair.ids))
      return {folder / pair.merges, folder / pair.ids};
  if (fs::exists(folder / "tokenizer.json")) return {folder / "tokenizer.json"};
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".tiktoken") return {entry.path()};
  throw Error("tokenizer: '" + folder.string() +
              "' holds no vocabulary: neither vocab.bpe with encoder.json, nor merges.txt with "
              "vocab.json, nor tokenizer.json, nor a .tiktoken file");
}

// A file of a pair stands for both.
std::vector<fs::path> files_with(const fs::path& file) {
  for (const Pair& pair : kPairs) {
    if (file.filename() != pair.merges && file.filename() != pair.ids) continue;
    const fs::path folder = file.parent_path();
    return {folder / pair.merges, folder / pair.ids};
  }
  return {file};
}

// Every word begins as bytes, so that no text is lost.
void require_bytes(BpeVocabulary& vocabulary, const fs::path& file) {
  std::array<bool, 256> there{};
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& bytes = vocabulary.tokens[id];
    const auto& beside = vocabulary.beside_model;
    if (bytes.size() != 1 || std::find(beside.begin(), beside.end(), id) != beside.end()) continue;
    const auto byte = static_cast<unsigned char>(bytes[0]);
    there[byte] = true;
    vocabulary.byte_tokens[byte] = static_cast<uint32_t>(id);
  }
  const auto missing = std::find(there.begin(), there.end(), false);
  if (missing != there.end())
    throw Error("tokenizer: '" + file.string() + "' has no token for byte " +
                std::to_string(missing - there.begin()) +
                ", so it is no byte-level vocabulary; text could be lost");
}

void find_end_of_text(BpeVocabulary& vocabulary) {
  for (const char* name : {"<|endoftext|>", "<|end_of_text|>"})
    for (const auto& [text, id] : vocabulary.special)
      if (text == name && !vocabulary.end_of_text) vocabulary.end_of_text = id;
}

BpeVocabulary read(const std::vector<fs::path>& files) {
  if (files.size() == 2) return read_merges_and_ids(files[0], files[1]);
  return files[0].extension() == ".json" ? read_tokenizer_json(files[0]) : read_ranks(files[0]);
}

}  // namespace

std::vector<fs::path> vocabulary_files(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? files_in(path) : files_with(path);
}

BpeVocabulary read_bpe_vocabulary(const std::vector<fs::path>& files) {
  BpeVocabulary vocabulary = read(files);
  require_bytes(vocabulary, files.back());
  find_end_of_text(vocabulary);
  return vocabulary;
}

}  // namespace exprun
