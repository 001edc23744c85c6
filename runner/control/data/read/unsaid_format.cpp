#include "control/data/read/unsaid_format.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "control/data/read/extension.h"
#include "text/token_shard.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kBlanks = " \t\r\n";
constexpr size_t kMostOfLine = size_t{16} << 20;  // a longer line is judged by nobody

constexpr size_t kTarMarkAt = 257;
constexpr std::string_view kTarMark = "ustar";

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

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.size(), text.find_first_not_of(kBlanks)));
}

// Of what is in sight, without the blanks before it.
std::string_view first_bytes(const StreamBuffer& buffer) {
  std::string_view text = buffer.rest();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return without_blanks(text);
}

bool is_json_lines(StreamBuffer& buffer) {
  while (first_bytes(buffer).empty() && buffer.rest().size() < kMostOfLine && buffer.fill())
    continue;
  if (!first_bytes(buffer).starts_with('{')) return false;
  while (first_bytes(buffer).find('\n') == std::string_view::npos &&
         buffer.rest().size() < kMostOfLine && buffer.fill())
    continue;
  const std::string_view text = first_bytes(buffer);
  return parse_json_or_discard<json>(text.substr(0, text.find('\n'))).is_object();
}

// '[' begins many a text, not with a '{' and a '"' behind it.
bool is_json_array(const StreamBuffer& buffer) {
  std::string_view text = first_bytes(buffer);
  for (const char c : {'[', '{', '"'}) {
    if (!text.starts_with(c)) return false;
    text = without_blanks(text.substr(1));
  }
  return true;
}

bool is_named_text(const fs::path& file) {
  const std::string extension = content_extension(file);
  return extension == ".txt" || extension == ".text" || extension == ".md";
}

}  // namespace

void refuse_unsaid_format(StreamBuffer& buffer, const fs::path& file) {
  const std::string shown = file == kStandardInput ? "standard input" : "'" + file.string() + "'";
  const auto refuse = [&](const std::string& why) { throw Error("data: " + shown + " " + why); };
  if (is_tar(buffer)) refuse("is a tar archive; unpack it and name the files that it holds");
  if (is_shard(buffer))
    refuse("is a token shard, no text; write type = \"token_shards\", with its path in 'train'");
  if (is_named_text(file)) return;
  const auto refuse_records = [&](const std::string& what, const std::string& format) {
    refuse("holds " + what + ", and nothing says so; write format = \"" + format +
           "\", or \"text\" to take it as it is");
  };
  if (is_json_lines(buffer)) refuse_records("JSON Lines", "json_lines");
  if (is_json_array(buffer)) refuse_records("a JSON array of records", "json");
}

}  // namespace exprun
