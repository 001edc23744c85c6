#include "control/data/fetch/download.h"

#include <strings.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/counted.h"
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

// Nothing that can be fetched is HTML.
bool is_html(const fs::path& file) {
  const MappedFile mapped(file);
  std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                        mapped.bytes().size());
  constexpr std::string_view kBlank = " \t\r\n\xEF\xBB\xBF";  // and a byte order mark
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const auto starts_with = [&](std::string_view tag) {
    return text.size() >= tag.size() && ::strncasecmp(text.data(), tag.data(), tag.size()) == 0;
  };
  return starts_with("<html") || starts_with("<!doctype html");
}

// What makes it no such file at all, or nothing.
std::string damage_of(const Download& wanted, const fs::path& file) {
  if (fs::file_size(file) == 0) return "is empty";
  if (is_html(file)) return "is a page of HTML";
  if (wanted.tokens && !is_shard(file)) return "is no whole token shard";
  if (!tells_end(wanted) && wanted.file.extension() == ".json" && !is_json(file))
    return "is no JSON, or not all of it";
  return "";
}

// What is wrong with a file that arrived whole, or nothing.
std::string problem_of(const Download& wanted, const fs::path& file) {
  const std::string difference = is_html(file) ? "" : difference_of(wanted, file);
  return difference.empty() ? damage_of(wanted, file) : difference;
}

// What is asked of a file that is wanted as it is: only what the file itself tells.
Download demanded(Download wanted) {
  if (wanted.as_it_is) {
    wanted.bytes = 0;
    wanted.sha256.clear();
  }
  return wanted;
}

fs::path taken_path(const fs::path& file) {
  return file.string() + ".taken";
}

// Whether the file is as it was when it was taken as it is.
bool was_taken(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(taken_path(file), ignored) &&
         read_file(taken_path(file)) == sha256_file_hex(file);
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
      : wanted_(demanded(wanted)),
        options_(options),
        part_(part),
        progress_(progress, wanted.bytes) {}

  void run() {
    furthest_ = part_.size();
    while (!stopping()) {
      const std::string problem = attempt();
      if (stopping()) return;
      if (problem.empty()) return finish();
      count_failure(problem);
      wait(options_.first_wait * std::pow(2, failures_ - 1));
    }
  }

 private:
  // What is wrong with it, or nothing.
  std::string attempt() {
    ++attempts_;
    bool is_whole = false;
    if_it_stays_so_.clear();
    if (wanted_.bytes == 0 || part_.size() != wanted_.bytes) {
      HttpRequest request(wanted_.address, part_, known(), progress_);
      const Verdict verdict = request.perform();
      has_ranges_ = !request.began_again();
      if (verdict.refusal == Refusal::final) throw error(verdict.problem + remedy(verdict));
      if (verdict.refusal == Refusal::other_range) begin_again();
      if (verdict.remedy == Remedy::elsewhere) if_it_stays_so_ = options_.mirror.elsewhere();
      if (!verdict.problem.empty()) return verdict.problem;
      is_whole = request.says_end();
    }
    const std::string problem = problem_of(wanted_, part_.path());
    if (problem.empty()) return "";
    const std::string found = "what arrived " + problem;
    if (is_whole)
      if_it_stays_so_ = options_.mirror.suspicion(damage_of(wanted_, part_.path()).empty());
    const bool is_certain = is_whole && came_before();
    begin_again();
    if (is_certain) throw error(found + ", and twice the same: " + if_it_stays_so_);
    return found;
  }

  // A kill between the two leaves a file that is taken for none, and fetched again.
  void finish() {
    const fs::path taken = taken_path(wanted_.file);
    std::error_code ignored;
    if (wanted_.as_it_is)
      write_file_atomically(taken, sha256_file_hex(part_.path()));
    else
      fs::remove(taken, ignored);
    part_.finish();
  }

  // Whether the same bytes arrived the last time.
  bool came_before() {
    const std::string sha256 = sha256_file_hex(part_.path());
    return std::exchange(wrong_, sha256) == sha256;
  }

  std::string remedy(const Verdict& verdict) const {
    if (verdict.remedy == Remedy::none) return "";
    const std::string elsewhere = options_.mirror.elsewhere();
    if (verdict.remedy == Remedy::elsewhere) return "; " + elsewhere;
    return "; get the file another way and put it at '" + wanted_.file.string() + "', or " +
           elsewhere;
  }

  // What another call would do.
  std::string advice() const {
    if (goes_on()) return "call again, it goes on where it was";
    return if_it_stays_so_.empty() ? "call again"
                                   : "call again; if it stays so, " + if_it_stays_so_;
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
      throw error(problem + ", after " + counted(attempts_, "attempt") + "; " + advice());
    log(LogLevel::debug, "again: " + wanted_.address + ": " + problem);
  }

  Error error(const std::string& problem) const {
    return Error("data fetch: '" + wanted_.address + "': " + problem);
  }

  const Download wanted_;
  const DownloadOptions& options_;
  PartFile& part_;
  FileProgress progress_;
  bool has_ranges_ = true;
  std::string if_it_stays_so_;  // what the last failure may come from, and what to do
  std::string wrong_;           // the hash of the last whole answer, which was no good
  int64_t furthest_ = 0;
  int64_t failures_ = 0;  // since it last came further
  int64_t attempts_ = 0;
};

}  // namespace

int64_t bytes_begun(const Download& wanted) {
  std::error_code error;
  const auto bytes = fs::file_size(part_path(wanted.file), error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

bool is_downloaded(const Download& wanted) {
  std::error_code ignored;
  return fs::is_regular_file(wanted.file, ignored) &&
         (problem_of(wanted, wanted.file).empty() || (wanted.as_it_is && was_taken(wanted.file)));
}

void download(const Download& wanted, const DownloadOptions& options, DownloadProgress& progress) {
  auto part = PartFile::take(wanted.file);
  if (!part || is_downloaded(wanted)) return;  // by the process that had it before
  Fetch(wanted, options, *part, progress).run();
}

}  // namespace exprun
