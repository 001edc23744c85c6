#include "text/bpe/bpe_vocabulary.h"

#include <algorithm>
#include <array>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "text/bpe/vocabulary_readers.h"
#include "text/pickled_vocabulary.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

struct Pair {
  const char* merges;
  const char* ids;
};
constexpr Pair kPairs[] = {{"vocab.bpe", "encoder.json"}, {"merges.txt", "vocab.json"}};

void refuse_pickle(const fs::path& path) {
  if (const auto pickle = pickled_vocabulary(path))
    throw Error("tokenizer: " + how_to_convert_pickle(*pickle));
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code error;
  for (const Pair& pair : kPairs)
    if (fs::exists(folder / pair.merges, error) && fs::exists(folder / pair.ids, error))
      return {folder / pair.merges, folder / pair.ids};
  if (fs::exists(folder / "tokenizer.json", error)) return {folder / "tokenizer.json"};
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".tiktoken") return {entry.path()};
  if (error) throw file_error("list folder", folder, error.value());
  refuse_pickle(folder);
  throw Error("tokenizer: '" + folder.string() +
              "' contains no vocabulary: neither vocab.bpe with encoder.json, nor merges.txt with "
              "vocab.json, nor tokenizer.json, nor a .tiktoken file");
}

// A file of a pair stands for both.
std::vector<fs::path> files_with(const fs::path& file) {
  refuse_pickle(file);
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
                ", so it is not a byte-level vocabulary; text could be lost");
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
  return folder_exists(path) ? files_in(path) : files_with(path);
}

bool is_same_vocabulary(const fs::path& kept, const fs::path& path) {
  std::vector<fs::path> there;
  try {
    there = vocabulary_files(path);
  } catch (const Error&) {  // the folder has none any more
    return false;
  }
  const auto files = vocabulary_files(kept);
  const auto is_same = [](const fs::path& file, const fs::path& other) {
    std::error_code ignored;
    return fs::equivalent(file, other, ignored) ||
           (file_exists(other) && read_file(file) == read_file(other));
  };
  return std::equal(files.begin(), files.end(), there.begin(), there.end(), is_same);
}

fs::path folder_of_vocabulary(const fs::path& path) {
  return fs::absolute(vocabulary_files(path).front()).parent_path();
}

BpeVocabulary read_bpe_vocabulary(const std::vector<fs::path>& files) {
  BpeVocabulary vocabulary = read(files);
  require_bytes(vocabulary, files.back());
  find_end_of_text(vocabulary);
  return vocabulary;
}

bool begin_texts(const std::vector<fs::path>& files) {
  return files.size() == 1 && files[0].extension() == ".json" &&
         tokenizer_json_begins_texts(files[0]);
}

BpeTables load_bpe_tables(const std::filesystem::path& path) {
  const BpeVocabulary vocabulary = read_bpe_vocabulary(vocabulary_files(path));
  return {vocabulary, TokenTable(vocabulary.tokens), MergeTable(vocabulary.merges)};
}

namespace {

constexpr size_t kCharacters = 256 + 68;
constexpr int kNoByte = -1;

constexpr bool stands_for_itself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

// One more, which is no character of the alphabet.
constexpr std::array<int, kCharacters + 1> byte_of_characters() {
  std::array<int, kCharacters + 1> bytes{};
  for (int& byte : bytes) byte = kNoByte;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte)
    bytes[static_cast<size_t>(stands_for_itself(byte) ? byte : next++)] = byte;
  return bytes;
}

constexpr std::array<int, kCharacters + 1> kByteOf = byte_of_characters();

// All of the alphabet have one byte or two in UTF-8; for others stands kCharacters.
size_t character_of(unsigned char first, unsigned char second) {
  const size_t value = size_t{first & 0x1fu} << 6 | (second & 0x3fu);
  const bool of_two = first >= 0xc2 && first < 0xe0 && (second & 0xc0) == 0x80;
  return of_two && value < kCharacters ? value : kCharacters;
}

}  // namespace

size_t decode_alphabet(std::string_view text, char*& bytes) {
  const char *at = text.data(), *const end = at + text.size();
  char* out = bytes;
  for (; at != end; ++at) {
    const auto first = static_cast<unsigned char>(*at);
    if (first > ' ' && first < 0x7f) {
      *out++ = *at;
      continue;
    }
    if (end - at < 2) break;
    const int byte = kByteOf[character_of(first, static_cast<unsigned char>(at[1]))];
    if (byte == kNoByte) break;
    *out++ = static_cast<char>(byte);
    ++at;
  }
  bytes = out;
  return static_cast<size_t>(at - text.data());
}

std::optional<std::string> bytes_of_alphabet(std::string_view token) {
  std::string bytes(token.size(), '\0');
  char* end = bytes.data();
  if (decode_alphabet(token, end) < token.size()) return std::nullopt;
  bytes.resize(static_cast<size_t>(end - bytes.data()));
  return bytes;
}

}  // namespace exprun
