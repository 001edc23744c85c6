#include "control/data/input_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/hash.h"
#include "control/data/read/byte_stream.h"
#include "control/data/survey.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// The time of a change changes with a link, a mode and a backup too.
bool is_same_but_change_time(std::optional<FileStamp> a, std::optional<FileStamp> b) {
  for (auto* stamp : {&a, &b})
    if (*stamp) (*stamp)->changed_seconds = (*stamp)->changed_nanoseconds = 0;
  return a == b;
}

}  // namespace

InputFiles::InputFiles(std::vector<RawSource> sources, std::vector<fs::path> vocabulary,
                       std::string options)
    : sources_(std::move(sources)),
      vocabulary_(std::move(vocabulary)),
      options_(std::move(options)),
      stamps_(stamps()),
      vocabulary_hash_(hash_of_vocabulary()),
      fingerprint_(std::async(std::launch::deferred, [this] { return hash_of_all(); })) {}

bool InputFiles::has_standard_input() const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const RawSource& source) { return source.source.file == kStandardInput; });
}

uint64_t InputFiles::source_bytes() const {
  uint64_t bytes = 0;
  std::error_code ignored;
  for (const RawSource& source : sources_) bytes += fs::file_size(source.source.file, ignored);
  return bytes;
}

// By default: later, where no thread can be had.
void InputFiles::begin_to_hash() {
  fingerprint_ = std::async([this] { return hash_of_all(); });
}

std::string InputFiles::hash_of_vocabulary() const {
  std::string hash;
  for (const fs::path& file : vocabulary_) hash += hash_file_hex(file);
  return hash;
}

std::string InputFiles::hash_of_all() const {
  const std::string content =
      has_standard_input()
          ? std::to_string(std::chrono::system_clock::now().time_since_epoch().count())
          : hash_of_sources(sources_);
  return hash_hex(options_ + " " + vocabulary_hash_ + " " + content);
}

std::vector<std::optional<FileStamp>> InputFiles::stamps() const {
  std::vector<std::optional<FileStamp>> stamps;
  for (const RawSource& source : sources_) stamps.push_back(file_stamp(source.source.file));
  for (const fs::path& file : vocabulary_) stamps.push_back(file_stamp(file));
  return stamps;
}

// Where files were written, their hash does not tell: it is of the end only.
bool InputFiles::is_same(const std::vector<std::optional<FileStamp>>& now) const {
  for (size_t i = 0; i < now.size(); ++i)
    if (!is_same_but_change_time(now[i], stamps_[i])) return false;
  if (hash_of_vocabulary() != vocabulary_hash_) return false;
  return has_standard_input() || hash_of_all() == fingerprint_.get();
}

std::optional<fs::path> InputFiles::changed_file() const {
  const auto now = stamps();
  const auto changed = std::mismatch(now.begin(), now.end(), stamps_.begin()).first;
  if (changed == now.end() || is_same(now)) return std::nullopt;
  const auto index = static_cast<size_t>(changed - now.begin());
  return index < sources_.size() ? sources_[index].source.file
                                 : vocabulary_[index - sources_.size()];
}

}  // namespace exprun
