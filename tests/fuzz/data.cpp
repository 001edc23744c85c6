// The readers of data on any bytes: files of tokens, JSON Lines, one JSON array. The first byte
// chooses. They refuse with an error, or what they give is what a whole parse gives.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/diagnostic.h"
#include "base/unique_fd.h"
#include "control/data/record_readers.h"
#include "control/data/record_template.h"
#include "control/data/shard_contents.h"

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
  text.fill(record);
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
  else
    read_array(file, bytes);
  return 0;
}
