#include "control/data/validation_border.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>

#include "base/file_error.h"
#include "base/unique_fd.h"
#include "control/data/byte_progress.h"
#include "control/data/ordered_workers.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSectionBytes = int64_t{4} << 20;  // what a thread counts at a time
constexpr int64_t kReadBytes = int64_t{1} << 18;     // stays in a core's cache

std::vector<RawSource> training(const std::vector<RawSource>& sources) {
  std::vector<RawSource> train;
  for (const RawSource& source : sources)
    if (source.part == Part::train) train.push_back(source);
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
    const auto bytes = std::make_unique_for_overwrite<char[]>(kReadBytes);
    for (int64_t at = 0; at < kSectionBytes;) {
      const auto wanted = static_cast<size_t>(std::min(kReadBytes, kSectionBytes - at));
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

int64_t border_of(int64_t units, double fraction) {
  return static_cast<int64_t>(std::floor((1 - fraction) * static_cast<double>(units)));
}

// The byte with which the last characters begin.
int64_t border_in_bytes(const std::vector<TextSection>& sections, double fraction, size_t threads,
                        const ShowBytes& show) {
  const auto sizes = sizes_of(sections, threads, show);
  int64_t characters = 0, bytes = 0;
  for (const auto& size : sizes) characters += size.characters;
  int64_t before = border_of(characters, fraction);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (before < sizes[i].characters) return bytes + sections[i].bytes_of(before);
    before -= sizes[i].characters;
    bytes += sizes[i].bytes;
  }
  return bytes;
}

}  // namespace

void find_border(const std::vector<RawSource>& sources, double fraction, size_t threads,
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
    options.split.validation_from = border_of(bytes + count_units(rest, options, show), fraction);
  } else if (rest.empty()) {
    options.split.validation_from = border_in_bytes(sections, fraction, threads, show);
    options.split.units_are_characters = false;
  } else {
    options.split.validation_from = border_of(count_units(train, options, show), fraction);
  }
}

}  // namespace exprun
