#include "control/data/input_files.h"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

#include "base/hash.h"
#include "control/data/byte_progress.h"
#include "control/data/read/byte_stream.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::system_clock;

constexpr int64_t kSettledSeconds = 3;

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
      key_(key_now()),
      settled_(settled_now()) {}

bool InputFiles::has_standard_input() const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const RawSource& source) { return source.source.file == kStandardInput; });
}

int64_t InputFiles::source_bytes(std::optional<Part> part) const {
  int64_t bytes = 0;
  for (size_t i = 0; i < sources_.size(); ++i)
    if (stamps_[i] && (!part || sources_[i].part == *part)) bytes += stamps_[i]->bytes;
  return bytes;
}

std::string InputFiles::hash_of_vocabulary() const {
  std::string hash;
  for (const fs::path& file : vocabulary_) hash += hash_file_hex(file);
  return hash;
}

std::string InputFiles::fingerprint(const std::string& content) const {
  return hash_hex(options_ + " " + vocabulary_hash_ + " " + content);
}

std::string InputFiles::fingerprint() const {
  ByteProgress progress("comparing", source_bytes());
  return fingerprint(content_of(sources_, [&](int64_t bytes) { progress.show(bytes); }));
}

std::string InputFiles::key_now() const {
  Hasher hasher;
  std::error_code ignored;
  hasher.update(options_ + " " + vocabulary_hash_ + " " + fs::current_path(ignored).native());
  for (size_t i = 0; i < sources_.size(); ++i) {
    hasher.update(sources_[i].part == Part::train ? " train " : " validation ");
    hasher.update(sources_[i].source.file.native());
    static_assert(std::has_unique_object_representations_v<FileStamp>);
    if (stamps_[i]) hasher.update(&*stamps_[i], sizeof *stamps_[i]);
  }
  if (has_standard_input()) hasher.update(std::to_string(Clock::now().time_since_epoch().count()));
  return hasher.hex();
}

bool InputFiles::settled_now() const {
  const int64_t settled = Clock::to_time_t(Clock::now()) - kSettledSeconds;
  return std::all_of(stamps_.begin(), stamps_.end(),
                     [&](const auto& stamp) { return stamp && stamp->changed_seconds < settled; });
}

std::vector<std::optional<FileStamp>> InputFiles::stamps() const {
  std::vector<std::optional<FileStamp>> stamps;
  for (const RawSource& source : sources_) stamps.push_back(file_stamp(source.source.file));
  for (const fs::path& file : vocabulary_) stamps.push_back(file_stamp(file));
  return stamps;
}

// Where files were written, their hash does not tell: it is of the end only.
bool InputFiles::is_same(const std::vector<std::optional<FileStamp>>& now,
                         const std::string& fingerprint) const {
  for (size_t i = 0; i < now.size(); ++i)
    if (!is_same_but_change_time(now[i], stamps_[i])) return false;
  if (hash_of_vocabulary() != vocabulary_hash_) return false;
  return has_standard_input() || this->fingerprint() == fingerprint;
}

std::optional<fs::path> InputFiles::changed_file(const std::string& fingerprint) const {
  const auto now = stamps();
  const auto changed = std::mismatch(now.begin(), now.end(), stamps_.begin()).first;
  if (changed == now.end() || is_same(now, fingerprint)) return std::nullopt;
  const auto index = static_cast<size_t>(changed - now.begin());
  return index < sources_.size() ? sources_[index].source.file
                                 : vocabulary_[index - sources_.size()];
}

}  // namespace exprun
