// The readers of data on any bytes: files of tokens, JSON Lines, one JSON array, a tokenizer.json,
// and the cutting of texts. The first byte chooses. They refuse with an error, or what they give is
// what a whole parse gives.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "control/data/read/record_template.h"
#include "control/data/read/records.h"
#include "control/data/shards/shard_contents.h"
#include "support/found_as_by_parse.h"
#include "text/bpe/vocabulary_readers.h"
#include "text/pattern_pretokenizer.h"

using namespace exprun;
using nlohmann::json;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void read_shard(const std::string& file) try {
  const TokenShard shard = recognise_shard(file).shard;
  int64_t total = 0;
  for (const int64_t count : count_tokens(shard)) total += count;
  require(total == shard.tokens);
  require(static_cast<int64_t>(read_tokens(shard, 0, shard.tokens).size()) == shard.tokens);
} catch (const Error&) {
}

void fill(const RecordTemplate& text, std::string_view record) try {
  require(is_found_as_by_parse(record));
  RecordRoom room;
  text.fill(record, room);
} catch (const Error&) {
}

std::vector<std::string> records_of(RecordReader& reader) {
  static const RecordTemplate text("{text}{{{a}}}", "{a}");
  std::vector<std::string> records;
  for (Record record; reader.next(record);) {
    fill(text, record.bytes);
    records.emplace_back(record.bytes);
  }
  return records;
}

void read_lines(const std::string& file) try {
  for (const std::string& record : records_of(*open_json_lines(file)))
    require(!record.empty() && record.find('\n') == std::string::npos);
} catch (const Error&) {
}

void read_array(const std::string& file, std::string_view bytes) try {
  const auto records = records_of(*open_json_array(file));
  const json whole = json::parse(bytes, nullptr, false);
  if (!whole.is_array()) return;
  require(whole.size() == records.size());
  for (size_t i = 0; i < records.size(); ++i) require(json::parse(records[i]) == whole[i]);
} catch (const Error&) {
  require(!json::parse(bytes, nullptr, false).is_array());
}

void read_tokenizer(const std::string& file) try {
  read_tokenizer_json(file);
} catch (const Error&) {
}

std::vector<std::string_view> words_of(const WordPattern& pattern, std::string_view text) {
  PatternPretokenizer pretokenizer(pattern);
  std::vector<std::string_view> words;
  pretokenizer.start(text);
  for (auto word = pretokenizer.next(); !word.empty(); word = pretokenizer.next())
    words.push_back(word);
  return words;
}

std::vector<WordPattern> patterns_of_cl100k() {
  std::vector<WordPattern> patterns;
  for (const KnownPattern& known : known_patterns())
    if (known.family == PatternFamily::cl100k) patterns.emplace_back(std::string(known.pattern));
  return patterns;
}

// A word ends at the last certain place of every beginning, and the words before it are the same.
void cut_text(std::string_view text) {
  static const std::vector<WordPattern> patterns = patterns_of_cl100k();
  const size_t cut = last_certain_end(text.substr(0, text.size() / 2));
  if (cut == 0) return;
  for (const WordPattern& pattern : patterns) {
    auto parts = words_of(pattern, text.substr(0, cut));
    for (const auto word : words_of(pattern, text.substr(cut))) parts.push_back(word);
    require(parts == words_of(pattern, text));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // A packed text is another one than the bytes that are parsed here.
  if (bytes.substr(0, 2) == "\x1f\x8b" || bytes.substr(0, 4) == "\x28\xb5\x2f\xfd") return 0;
  const UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  require(::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::string file = "/proc/self/fd/" + std::to_string(fd.get());
  if (data[0] == 's')
    read_shard(file);
  else if (data[0] == 'l')
    read_lines(file);
  else if (data[0] == 'j')
    read_tokenizer(file);
  else if (data[0] == 'c')
    cut_text(bytes);
  else if (bytes.find('\0') == bytes.npos)  // where the other parser's text ends
    read_array(file, bytes);
  return 0;
}
