#include "control/data/fetch/download.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "base/mapped_file.h"
#include "base/signals.h"
#include "control/data/fetch/http_request.h"
#include "control/data/fetch/sha256.h"
#include "text/token_shard.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

bool stopping() {
  return stop_requested() != StopRequest::none;
}

// Whether the file itself tells a torn one.
bool tells_end(const Download& wanted) {
  return wanted.bytes > 0 || !wanted.sha256.empty() || wanted.tokens;
}

bool is_json(const fs::path& file) {
  const MappedFile mapped(file);
  const auto* bytes = reinterpret_cast<const char*>(mapped.bytes().data());
  return nlohmann::json::accept(bytes, bytes + mapped.bytes().size());
}

bool is_shard(const fs::path& file) try {
  inspect_shard(file, ShardFormat::with_header);
  return true;
} catch (const Error&) {
  return false;
}

// What differs from what was published, or nothing.
std::string difference_of(const Download& wanted, const fs::path& file) {
  const auto bytes = static_cast<int64_t>(fs::file_size(file));
  if (wanted.bytes > 0 && bytes != wanted.bytes)
    return "has " + std::to_string(bytes) + " bytes instead of " + std::to_string(wanted.bytes);
  if (!wanted.sha256.empty() && sha256_file_hex(file) != wanted.sha256)
    return "has another SHA-256 than " + wanted.sha256;
  return "";
}

// What makes it no such file at all, or nothing.
std::string damage_of(const Download& wanted, const fs::path& file) {
  if (fs::file_size(file) == 0) return "is empty";
  if (wanted.tokens && !is_shard(file)) return "is no whole token shard";
  if (!tells_end(wanted) && wanted.file.extension() == ".json" && !is_json(file))
    return "is no JSON, or not all of it";
  return "";
}

// What is wrong with a file that arrived whole, or nothing.
std::string problem_of(const Download& wanted, const fs::path& file) {
  const std::string difference = difference_of(wanted, file);
  return difference.empty() ? damage_of(wanted, file) : difference;
}

void wait(double seconds) {
  for (; seconds > 0 && !stopping(); seconds -= 0.1) {
    const timespec slice{0, 100'000'000};
    ::nanosleep(&slice, nullptr);
  }
}

// The attempts at one file.
class Fetch {
 public:
  Fetch(const Download& wanted, const DownloadOptions& options, PartFile& part,
        DownloadProgress& progress)
      : wanted_(wanted), options_(options), part_(part), progress_(progress, wanted.expected) {}

  void run() {
    furthest_ = part_.size();
    while (!stopping()) {
      const std::string problem = attempt();
      if (stopping()) return;
      if (problem.empty()) return part_.finish();
      count_failure(problem);
      wait(options_.first_wait * std::pow(2, failures_ - 1));
    }
  }

 private:
  // What is wrong with it, or nothing.
  std::string attempt() {
    bool is_whole = false;
    if (wanted_.bytes == 0 || part_.size() != wanted_.bytes) {
      HttpRequest request(wanted_.address, part_, known(), progress_);
      const Verdict verdict = request.perform();
      has_ranges_ = !request.began_again();
      if (verdict.refusal == Refusal::final) throw error(verdict.problem);
      if (verdict.refusal == Refusal::other_range) begin_again();
      if (!verdict.problem.empty()) return verdict.problem;
      is_whole = request.says_end();
    }
    const std::string problem = problem_of(wanted_, part_.path());
    if (problem.empty()) return "";
    const std::string found = "what arrived " + problem;
    if (is_whole && came_before()) refuse(found);
    begin_again();
    return found;
  }

  // Whether the same bytes arrived the last time.
  bool came_before() {
    const std::string sha256 = sha256_file_hex(part_.path());
    return std::exchange(wrong_, sha256) == sha256;
  }

  // What comes twice the same, its source has.
  [[noreturn]] void refuse(const std::string& problem) {
    const bool usable = damage_of(wanted_, part_.path()).empty();
    begin_again();
    throw error(problem + ", and twice the same: " +
                (usable ? "the file has changed at its source; to take it as it is, give "
                          "--no-checksum"
                        : "it is so at its source; give --mirror ADDRESS of another"));
  }

  Known known() const { return {tells_end(wanted_), !wanted_.sha256.empty()}; }

  // Whether another call has only the rest to get.
  bool goes_on() const {
    return part_.size() > 0 && has_ranges_ && (known().content || !part_.version().empty());
  }

  void begin_again() {
    progress_.receive(-part_.size());
    part_.begin("");
  }

  // Attempts that came further than all before do not use up the retries.
  void count_failure(const std::string& problem) {
    const bool gained = part_.size() > furthest_;
    furthest_ = std::max(furthest_, part_.size());
    failures_ = gained ? 1 : failures_ + 1;
    if (failures_ > options_.retries)
      throw error(problem + " (after " + std::to_string(options_.retries) +
                  " retries); call again" + (goes_on() ? ", it goes on where it was" : ""));
    log(LogLevel::debug, "again: " + wanted_.address + ": " + problem);
  }

  Error error(const std::string& problem) const {
    return Error("data fetch: '" + wanted_.address + "': " + problem);
  }

  const Download& wanted_;
  const DownloadOptions& options_;
  PartFile& part_;
  FileProgress progress_;
  bool has_ranges_ = true;
  std::string wrong_;  // the hash of the last whole answer, which was no good
  int64_t furthest_ = 0;
  int failures_ = 0;
};

}  // namespace

int64_t bytes_begun(const Download& wanted) {
  std::error_code error;
  const auto bytes = fs::file_size(part_path(wanted.file), error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

bool is_downloaded(const Download& wanted) {
  std::error_code ignored;
  return fs::is_regular_file(wanted.file, ignored) && problem_of(wanted, wanted.file).empty();
}

void download(const Download& wanted, const DownloadOptions& options, DownloadProgress& progress) {
  auto part = PartFile::take(wanted.file);
  if (!part || is_downloaded(wanted)) return;  // by the process that had it before
  Fetch(wanted, options, *part, progress).run();
}

}  // namespace exprun
