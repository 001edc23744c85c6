#include "control/data/read/split.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/process/ordered_workers.h"
#include "control/data/byte_progress.h"
#include "control/data/read/document_chunks.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

// In every word of a block the byte of a character's beginning counts up the same byte of a sum.
constexpr size_t kCountedAtOnce = 1024;

int64_t characters_in_block(const char* bytes) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t words[kCountedAtOnce / sizeof(uint64_t)], sum = 0;
  static_assert(std::size(words) < 256);
  std::memcpy(words, bytes, sizeof words);
  for (const uint64_t word : words) sum += (~(word >> 7) | word >> 6) & kOnes;  // not 10xxxxxx
  int64_t count = 0;
  for (; sum != 0; sum >>= 8) count += sum & 0xff;
  return count;
}

}  // namespace

int64_t units_in(std::string_view text, bool characters) {
  if (!characters) return static_cast<int64_t>(text.size());
  int64_t count = 0;
  for (; text.size() >= kCountedAtOnce; text.remove_prefix(kCountedAtOnce))
    count += characters_in_block(text.data());
  return count + std::count_if(text.begin(), text.end(), begins_character);
}

size_t bytes_of_units(std::string_view text, int64_t units, bool characters) {
  if (!characters) return static_cast<size_t>(units);
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && units-- == 0) break;
  return at;
}

int64_t units_in_record(size_t bytes, const SplitOptions& split) {
  return split.records_are_units ? 1 : static_cast<int64_t>(bytes);
}

void RecordSplitter::begin_file(Split split, bool json) {
  split_ = split;
  json_ = json;
}

std::span<const SplitRecord> RecordSplitter::divide(const Record& record) {
  count_ = 0;
  if (record.begins) ++document_;
  const int64_t from = options_.validation_from;
  if (json_ || from < 0 || split_ == Split::validation) {
    add(record, split_of_document());
    unit_ += units_in_record(record.bytes.size(), options_);
  } else {
    const int64_t units = units_in(record.bytes, options_.units_are_characters);
    divide_text(record, from - unit_, units);
    unit_ += units;
  }
  return {divided_.data(), count_};
}

Split RecordSplitter::split_of_document() const {
  const bool counted = options_.validation_every > 0 && document_ % options_.validation_every == 0;
  const bool behind = options_.validation_from >= 0 && unit_ >= options_.validation_from;
  return counted || behind ? Split::validation : split_;
}

// A document that the split point divides is one in each split. `split_point`: so many units lie
// before it.
void RecordSplitter::divide_text(const Record& record, int64_t split_point, int64_t units) {
  if (split_point > 0 && units <= split_point)
    return add({record.bytes, record.begins, record.ends || units == split_point}, Split::train);
  std::string_view rest = record.bytes;
  if (split_point > 0) {
    rest = rest.substr(bytes_of_units(rest, split_point, options_.units_are_characters));
    const size_t cut = record.bytes.size() - rest.size();
    add({record.bytes.substr(0, cut), record.begins, true}, Split::train);
  }
  const bool begins = record.begins || !validation_begun_;
  if (rest.empty() && !record.begins && begins) return;  // the document ended at the split point
  validation_begun_ = true;
  const bool is_rest = begins && (split_point > 0 || !record.begins);
  add({rest, begins, record.ends}, Split::validation, is_rest);
}

void RecordSplitter::add(const Record& record, Split split, bool is_rest) {
  divided_[count_++] = {record, split, is_rest};
}

namespace {

constexpr int64_t kSectionBytes = int64_t{4} << 20;  // what a thread counts at a time
constexpr int64_t kCountedBytes = int64_t{1} << 18;  // stays in a core's cache

std::vector<RawSource> training(const std::vector<RawSource>& sources) {
  std::vector<RawSource> train;
  for (const RawSource& source : sources)
    if (source.split == Split::train) train.push_back(source);
  return train;
}

// Of a file whose bytes are its text: neither packed nor divided into documents. What cannot be
// read is told at its place, when it is read.
std::optional<int64_t> plain_bytes(const RawSource& source, const RecordOptions& options) try {
  const fs::path& file = source.source.file;
  const bool whole = options.separator.empty() && format_of_file(file, options.format) == "text";
  return whole ? unpacked_bytes(file) : std::nullopt;
} catch (const Error&) {
  return std::nullopt;
}

// A part of a text that is counted for itself.
class TextSection {
 public:
  TextSection(const fs::path& file, int64_t begin) : file_(&file), begin_(begin) {}

  struct Size {
    int64_t characters = 0, bytes = 0;
  };

  Size size() const {
    Size size;
    read([&](std::string_view text) {
      size.characters += units_in(text, true);
      size.bytes += static_cast<int64_t>(text.size());
      return true;
    });
    return size;
  }

  // The bytes of its first characters; it has more.
  int64_t bytes_of(int64_t characters) const {
    int64_t bytes = 0;
    read([&](std::string_view text) {
      const int64_t here = units_in(text, true);
      const bool ends = characters < here;
      bytes += static_cast<int64_t>(ends ? bytes_of_units(text, characters, true) : text.size());
      characters -= here;
      return !ends;
    });
    return bytes;
  }

 private:
  // `use` gets its bytes, some at a time, and says whether it wants more.
  template <class Use>
  void read(Use use) const {
    const UniqueFd fd(::open(file_->c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) throw file_error("open", *file_);
    const auto bytes = std::make_unique_for_overwrite<char[]>(kCountedBytes);
    for (int64_t at = 0; at < kSectionBytes;) {
      const auto wanted = static_cast<size_t>(std::min(kCountedBytes, kSectionBytes - at));
      const ssize_t count = ::pread(fd.get(), bytes.get(), wanted, begin_ + at);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw file_error("read", *file_);
      if (count == 0 || !use({bytes.get(), static_cast<size_t>(count)})) return;
      at += count;
    }
  }

  const fs::path* file_;
  int64_t begin_;
};

std::vector<TextSection::Size> sizes_of(const std::vector<TextSection>& sections, size_t threads,
                                        const ShowBytes& show) {
  std::vector<TextSection::Size> sizes;
  int64_t bytes = 0;
  OrderedWorkers<TextSection, TextSection::Size> workers(
      std::min(threads, sections.size()),
      [] { return [](const TextSection& section) { return section.size(); }; },
      [&](const TextSection::Size& size) {
        sizes.push_back(size);
        show(bytes += size.bytes);
      });
  for (const TextSection& section : sections) workers.put(section);
  workers.finish();
  return sizes;
}

int64_t split_point_of(int64_t units, double fraction) {
  return static_cast<int64_t>(std::floor((1 - fraction) * static_cast<double>(units)));
}

// The byte with which the last characters begin.
int64_t split_point_in_bytes(const std::vector<TextSection>& sections, double fraction,
                             size_t threads, const ShowBytes& show) {
  const auto sizes = sizes_of(sections, threads, show);
  int64_t characters = 0, bytes = 0;
  for (const auto& size : sizes) characters += size.characters;
  int64_t before = split_point_of(characters, fraction);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (before < sizes[i].characters) return bytes + sections[i].bytes_of(before);
    before -= sizes[i].characters;
    bytes += sizes[i].bytes;
  }
  return bytes;
}

}  // namespace

void find_split_point(const std::vector<RawSource>& sources, double fraction, size_t threads,
                      ChunkOptions& options) {
  const bool characters = options.split.units_are_characters;
  std::vector<RawSource> train = training(sources), rest;
  std::vector<TextSection> sections;
  int64_t bytes = 0;
  for (const RawSource& source : train) {
    const auto plain = plain_bytes(source, options.records);
    if (!plain) rest.push_back(source);
    for (int64_t begin = 0; begin < plain.value_or(0); begin += kSectionBytes)
      sections.emplace_back(source.source.file, begin);
    bytes += plain.value_or(0);
  }
  ByteProgress progress("counting", file_bytes(characters ? train : rest));
  const auto show = [&](int64_t read) { progress.show(read); };
  if (!characters) {
    options.split.validation_from =
        split_point_of(bytes + count_units(rest, options, show), fraction);
  } else if (rest.empty()) {
    options.split.validation_from = split_point_in_bytes(sections, fraction, threads, show);
    options.split.units_are_characters = false;
  } else {
    options.split.validation_from = split_point_of(count_units(train, options, show), fraction);
  }
}

}  // namespace exprun
