#include "control/data/read/format_sniffing.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/strings.h"
#include "control/data/read/record_fields.h"
#include "text/token_shard.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

std::string extension_of(const fs::path& file) {
  return lower_case(file.extension().string());
}

constexpr const char* kBlanks = " \t\r\n";
constexpr size_t kMostOfLine = size_t{16} << 20;  // a longer line is judged by nobody
constexpr size_t kMostOfName = size_t{64} << 10;  // with what stands before it in an array

constexpr size_t kTarMarkAt = 257;
constexpr std::string_view kTarMark = "ustar";
constexpr std::string_view kParquetMark = "PAR1";

bool is_tar(StreamBuffer& buffer) {
  return buffer.has(kTarMarkAt + kTarMark.size()) &&
         buffer.rest().substr(kTarMarkAt).starts_with(kTarMark);
}

bool is_shard(StreamBuffer& buffer) {
  int32_t magic = 0;
  if (!buffer.has(sizeof magic)) return false;
  std::memcpy(&magic, buffer.rest().data(), sizeof magic);
  return is_shard_magic(magic);
}

// After the mark stands a header in Thrift's compact protocol, or zeros: in a text neither does.
bool is_parquet(StreamBuffer& buffer) {
  if (!buffer.has(kParquetMark.size() + 1) || !buffer.rest().starts_with(kParquetMark))
    return false;
  const char behind = buffer.rest()[kParquetMark.size()];
  return behind >= 0 && behind < ' ' && std::string_view(kBlanks).find(behind) == std::string::npos;
}

// Where a zero byte stands near the beginning, as in no text; as git tells binary files.
std::optional<size_t> zero_byte(StreamBuffer& buffer) {
  constexpr size_t kLookedAt = 8000;
  buffer.has(kLookedAt);
  const size_t at = buffer.rest().substr(0, kLookedAt).find('\0');
  return at == std::string_view::npos ? std::nullopt : std::optional(at);
}

struct WideEncoding {
  const char* name;
  std::string_view mark;
  const char* shown;
};

using namespace std::string_view_literals;
constexpr WideEncoding kWideEncodings[] = {{"UTF-32", "\xff\xfe\0\0"sv, "FF FE 00 00"},
                                           {"UTF-32", "\0\0\xfe\xff"sv, "00 00 FE FF"},
                                           {"UTF-16", "\xff\xfe"sv, "FF FE"},
                                           {"UTF-16", "\xfe\xff"sv, "FE FF"}};

// By the mark that such a text begins with.
const WideEncoding* wide_encoding(StreamBuffer& buffer) {
  buffer.has(kWideEncodings[0].mark.size());
  for (const WideEncoding& encoding : kWideEncodings)
    if (buffer.rest().starts_with(encoding.mark)) return &encoding;
  return nullptr;
}

std::string problem_of(const WideEncoding& encoding) {
  return std::string("is ") + encoding.name + " (it begins with " + encoding.shown + ")";
}

std::string remedy_for(const WideEncoding& encoding) {
  return std::string("convert it to UTF-8 (iconv -f ") + encoding.name + " -t UTF-8)";
}

// As nanoGPT names its files of tokens, which have no header.
constexpr const char* kRemedyForTokens =
    "if it holds tokens, write type = \"token_shards\" and format = \"raw_uint16\", with its path "
    "in 'train'";

Error refusal(const fs::path& file, const std::string& what, const std::string& remedy) {
  const std::string shown = file == kStandardInput ? "standard input" : "'" + file.string() + "'";
  return Error("data: " + shown + " " + what + "; " + remedy);
}

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.size(), text.find_first_not_of(kBlanks)));
}

// What is in sight from the first byte at or after `from` that is no blank; of a line that may be
// an object all of it.
std::string_view line_from(StreamBuffer& buffer, size_t from) {
  const auto text = [&] { return without_blanks(buffer.rest().substr(from)); };
  const auto is_enough = [&] {
    return text().find('\n') != std::string_view::npos ||
           (!text().empty() && !text().starts_with('{'));
  };
  while (!is_enough() && buffer.rest().size() - from < kMostOfLine && buffer.fill()) continue;
  return text().substr(0, text().find('\n'));
}

// '[' and '{' begin many a text, not with a name and a colon after them.
bool begins_with_field(std::string_view text) {
  for (const char c : {'{', '"'}) {
    text = without_blanks(text);
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
  }
  size_t at = text.find_first_of("\"\\\n");
  while (at != std::string_view::npos && text[at] == '\\')
    at = text.find_first_of("\"\\\n", at + 2);
  return at != std::string_view::npos && text[at] == '"' &&
         without_blanks(text.substr(at + 1)).starts_with(':');
}

bool is_object(std::string_view line) {
  return line.starts_with('{') && RecordFields().find(line);
}

// One object on a line may be a text's own: a second line must be one too, if there is any.
bool is_json_lines(StreamBuffer& buffer, size_t begin) {
  const std::string_view first = line_from(buffer, begin);
  if (!begins_with_field(first) || !is_object(first)) return false;
  const std::string_view second =
      line_from(buffer, static_cast<size_t>(first.data() + first.size() - buffer.rest().data()));
  return second.empty() || is_object(second);
}

bool is_json_array(StreamBuffer& buffer, size_t begin) {
  const std::string_view line = line_from(buffer, begin);
  if (!line.starts_with('[')) return false;
  const auto at = static_cast<size_t>(line.data() - buffer.rest().data());
  buffer.has(at + kMostOfName);
  return begins_with_field(buffer.rest().substr(at + 1, kMostOfName));
}

bool is_markdown(const fs::path& file) {
  return content_extension(file) == ".md";
}

}  // namespace

bool is_named_packed(const fs::path& file) {
  const std::string extension = extension_of(file);
  return extension == ".gz" || extension == ".gzip" || extension == ".zst" || extension == ".zstd";
}

std::string content_extension(const fs::path& file) {
  return is_named_packed(file) ? extension_of(file.stem()) : extension_of(file);
}

void refuse_other_format(StreamBuffer& buffer, const fs::path& file) {
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    throw refusal(file, what, remedy + ", or set format = \"text\" to read it as is");
  };
  if (is_tar(buffer)) refuse("is a tar archive", "extract it and give the files in it");
  if (is_shard(buffer))
    refuse("is a token shard, not text", "write type = \"token_shards\", with its path in 'train'");
  if (is_parquet(buffer)) refuse("is a Parquet file, not text", "export it as JSON Lines");
  if (const auto* wide = wide_encoding(buffer)) refuse(problem_of(*wide), remedy_for(*wide));
  if (const auto at = zero_byte(buffer)) {
    const std::string what = "is binary, not text: its byte " + std::to_string(*at) + " is zero";
    if (content_extension(file) == ".bin") throw refusal(file, what, kRemedyForTokens);
    refuse(what, "give files of text");
  }
  if (is_markdown(file)) return;
  const size_t begin = buffer.rest().starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  if (is_json_lines(buffer, begin))
    refuse("begins with a line that is a JSON object, but the recipe gives no format",
           "write format = \"json_lines\"");
  if (is_json_array(buffer, begin))
    refuse("begins with an array of JSON objects, but the recipe gives no format",
           "write format = \"json\"");
}

void refuse_wide_encoding(StreamBuffer& buffer, const fs::path& file) {
  if (const auto* wide = wide_encoding(buffer))
    throw refusal(file, problem_of(*wide), remedy_for(*wide));
}

}  // namespace exprun
