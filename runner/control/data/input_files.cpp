#include "control/data/input_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <type_traits>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "control/data/byte_progress.h"
#include "control/data/read/byte_stream.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using WallClock = std::chrono::system_clock;

constexpr int64_t kSettledSeconds = 3;

// The time of a change changes with a link, a mode and a backup too.
bool is_same_but_change_time(std::optional<FileStamp> a, std::optional<FileStamp> b) {
  for (auto* stamp : {&a, &b})
    if (*stamp) (*stamp)->changed_seconds = (*stamp)->changed_nanoseconds = 0;
  return a == b;
}

constexpr uint64_t kHashedWhole = uint64_t{256} << 20;
constexpr uint64_t kBlocks = 16;
constexpr uint64_t kBlockBytes = 4096;

uint64_t size_of(const fs::path& file) {
  std::error_code error;
  const uintmax_t size = fs::file_size(file, error);
  if (error) throw file_error("read", file, error.value());
  return size;
}

void hash_block(int fd, uint64_t offset, const fs::path& file, Hasher& hasher) {
  char block[kBlockBytes];
  const ssize_t count = ::pread(fd, block, sizeof block, static_cast<off_t>(offset));
  if (count < 0) throw file_error("read", file);
  hasher.update(block, static_cast<size_t>(count));
}

std::string hash_of_blocks(const fs::path& file, uint64_t size) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw file_error("open", file);
  Hasher hasher;
  const uint64_t last = size > kBlockBytes ? size - kBlockBytes : 0;
  for (uint64_t block = 0; block < kBlocks; ++block)
    hash_block(fd.get(), last * block / (kBlocks - 1), file, hasher);
  return hasher.hex();
}

// Opens the folder of a file once for all files of it that follow: thousands of whole paths take
// the kernel longer to walk than to look at the files.
class StampReader {
 public:
  std::optional<FileStamp> operator()(const fs::path& file) {
    const std::string& path = file.native();
    const size_t end = path.rfind('/') + 1;  // 0 without a folder
    if (!fd_ || std::string_view(path).substr(0, end) != folder_) enter(path.substr(0, end));
    struct stat status {};
    if (::fstatat(fd_.get(), path.c_str() + end, &status, 0) != 0 || !S_ISREG(status.st_mode))
      return std::nullopt;
    return FileStamp{static_cast<int64_t>(status.st_dev),
                     static_cast<int64_t>(status.st_ino),
                     status.st_size,
                     status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec,
                     status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec};
  }

 private:
  void enter(std::string folder) {
    folder_ = std::move(folder);
    const char* const path = folder_.empty() ? "." : folder_.c_str();
    fd_ = UniqueFd(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

  std::string folder_;
  UniqueFd fd_;
};

}  // namespace

std::optional<FileStamp> file_stamp(const fs::path& file) {
  return StampReader()(file);
}

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
  return std::any_of(sources_.begin(), sources_.end(), [](const RawSource& source) {
    return source.source.file.native() == kStandardInput;
  });
}

int64_t InputFiles::source_bytes(std::optional<Split> split) const {
  int64_t bytes = 0;
  for (size_t i = 0; i < sources_.size(); ++i)
    if (stamps_[i] && (!split || sources_[i].split == *split)) bytes += stamps_[i]->bytes;
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
    hasher.update(sources_[i].split == Split::train ? " train " : " validation ");
    hasher.update(sources_[i].source.file.native());
    static_assert(std::has_unique_object_representations_v<FileStamp>);
    if (stamps_[i]) hasher.update(&*stamps_[i], sizeof *stamps_[i]);
  }
  if (has_standard_input())
    hasher.update(std::to_string(WallClock::now().time_since_epoch().count()));
  return hasher.hex();
}

bool InputFiles::settled_now() const {
  const int64_t settled = WallClock::to_time_t(WallClock::now()) - kSettledSeconds;
  return std::all_of(stamps_.begin(), stamps_.end(),
                     [&](const auto& stamp) { return stamp && stamp->changed_seconds < settled; });
}

std::vector<std::optional<FileStamp>> InputFiles::stamps() const {
  std::vector<std::optional<FileStamp>> stamps;
  stamps.reserve(sources_.size() + vocabulary_.size());
  StampReader stamp_of;
  for (const RawSource& source : sources_) stamps.push_back(stamp_of(source.source.file));
  for (const fs::path& file : vocabulary_) stamps.push_back(stamp_of(file));
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

std::string hash_of_part(const fs::path& file, uint64_t bytes_of_all) {
  return bytes_of_all <= kHashedWhole ? hash_file_hex(file) : hash_of_blocks(file, size_of(file));
}

std::string content_hash(std::vector<ContentPart>& parts) {
  uint64_t total = 0;
  for (const ContentPart& part : parts) total += size_of(part.file);
  Hasher hasher;
  for (ContentPart& part : parts) {
    part.hash = hash_of_part(part.file, total);
    hasher.update(part.role + " " + std::to_string(size_of(part.file)) + " " + part.hash);
  }
  return hasher.hex();
}

// Hidden: runs/data/* are sets of data.
KnownSources::KnownSources(const fs::path& data_folder, const InputFiles& inputs)
    : file_(data_folder / ".known" / inputs.key()), settled_(inputs.are_settled()) {}

std::optional<std::string> KnownSources::fingerprint() const {
  std::error_code ignored;
  if (!settled_ || !fs::exists(file_, ignored)) return std::nullopt;
  return read_file(file_);
}

// Only a saving of time: a folder that cannot be written is told by what must be written.
void KnownSources::remember(const std::string& fingerprint) const try {
  if (!settled_) return;
  std::error_code ignored;
  fs::create_directories(file_.parent_path(), ignored);
  write_file_atomically(file_, fingerprint);
} catch (const Error& error) {
  log(LogLevel::debug, error.what());
}

}  // namespace exprun
