#include "control/data/fetch/download.h"

#include <fcntl.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/process/signals.h"
#include "base/strings.h"
#include "control/data/fetch/curl_library.h"
#include "control/data/fetch/sha256.h"
#include "text/token_shard.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

bool stopping() {
  return stop_requested() != StopRequest::none;
}

fs::path part_path(const fs::path& file) {
  return file.string() + ".part";
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
    return "has a different SHA-256 than " + wanted.sha256;
  return "";
}

// What makes it no such file, whatever was published, or nothing.
std::string damage_of(const Download& wanted, const fs::path& file) {
  if (fs::file_size(file) == 0) return "is empty";
  if (wanted.tokens && !is_shard(file)) return "is not a whole token shard";
  if (wanted.sha256.empty() && wanted.file.extension() == ".json" && !is_json(file))
    return "is not JSON, or not all of it";
  return "";
}

// The part is locked while this lives; an empty one goes with it.
class PartFile {
 public:
  // Waits while another process has it; nothing if a stop was requested meanwhile. Throws Error.
  static std::optional<PartFile> take(const fs::path& file) {
    const fs::path path = part_path(file);
    for (bool told = false; !stopping();) {
      auto lock = FileLock::try_take(path);
      if (lock && lock->is_of(path)) return PartFile(file, path, std::move(*lock));
      if (lock) continue;
      if (!std::exchange(told, true))
        log_info("another process fetches '" + file.string() + "': waiting for it");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return std::nullopt;
  }
  PartFile(PartFile&&) noexcept = default;
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile() {
    if (lock_ && lock_->fd() >= 0 && size() == 0) ::unlink(path_.c_str());
  }

  const fs::path& path() const { return path_; }
  int64_t size() const { return static_cast<int64_t>(fs::file_size(path_)); }

  void clear() {
    if (::ftruncate(lock_->fd(), 0) != 0) throw file_error("write", path_);
  }

  // False with errno where it fails.
  bool append(std::string_view bytes) {
    for (off_t at = ::lseek(lock_->fd(), 0, SEEK_END); !bytes.empty();) {
      const ssize_t written = ::pwrite(lock_->fd(), bytes.data(), bytes.size(), at);
      if (written < 0) return false;
      at += written;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }

  // Gives it the file's name, durably. Throws Error.
  void finish() {
    if (::fsync(lock_->fd()) != 0) throw file_error("write", path_);
    std::error_code error;
    fs::rename(path_, file_, error);
    if (error) throw file_error("write", file_, error.value());
    lock_.reset();
    sync_file(folder_of(file_));
  }

 private:
  PartFile(fs::path file, fs::path path, FileLock lock)
      : file_(std::move(file)), path_(std::move(path)), lock_(std::move(lock)) {}

  fs::path file_, path_;
  std::optional<FileLock> lock_;  // none once it is finished
};

// One request for a file, from where its part ends.
class Request {
 public:
  Request(const std::string& address, PartFile& part, DownloadProgress& progress, int64_t& expected)
      : curl_(CurlLibrary::instance()),
        easy_(curl_.easy_init(), curl_.easy_cleanup),
        part_(part),
        progress_(progress),
        expected_(expected),
        from_(part.size()) {
    // From https no redirection leads to http, where anybody on the way could put another file.
    const bool secure = ::strncasecmp(address.c_str(), "https:", 6) == 0;
    set(CURLOPT_URL, address.c_str());
    set(CURLOPT_DEFAULT_PROTOCOL, "http");
    set(kProtocols, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
    set(kRedirectedProtocols, secure ? long{CURLPROTO_HTTPS} : CURLPROTO_HTTP | CURLPROTO_HTTPS);
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_FAILONERROR, 1L);
    set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(from_));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, 30L);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, 60L);
    set(CURLOPT_USERAGENT, "exprun");
    set(CURLOPT_ERRORBUFFER, words_);
    set(CURLOPT_WRITEFUNCTION, &Request::take_bytes);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Request::stop);
  }

  // libcurl's own words where it failed, or nothing. Throws Error when the part cannot be written.
  std::string perform() {
    result_ = curl_.easy_perform(easy_.get());
    if (failure_) std::rethrow_exception(failure_);
    if (is_page()) return "the server sends a web page instead of the file";
    if (result_ == CURLE_OK) return "";
    return *words_ ? words_ : curl_.easy_strerror(result_);
  }

  // Whether another request from the beginning may do better than this one.
  bool refuses_range() const {
    return from_ > 0 && !is_page() && (result_ == CURLE_RANGE_ERROR || status() == 416);
  }

  // Whether another request would end likewise.
  bool is_final() const {
    const long answer = status();
    const bool refused = answer >= 400 && answer < 500 && answer != 408 && answer != 429;
    return refused || is_page() || result_ == CURLE_URL_MALFORMAT ||
           result_ == CURLE_UNSUPPORTED_PROTOCOL || result_ == CURLE_TOO_MANY_REDIRECTS;
  }

 private:
  // By number: headers since 7.85 call them deprecated, and libraries before lack what replaces
  // them.
  static constexpr auto kProtocols = static_cast<CURLoption>(CURLOPTTYPE_LONG + 181);
  static constexpr auto kRedirectedProtocols = static_cast<CURLoption>(CURLOPTTYPE_LONG + 182);

  template <class Value>
  void set(CURLoption option, Value value) {
    curl_.easy_setopt(easy_.get(), option, value);
  }

  long status() const {
    long status = 0;
    curl_.easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  // A login or a proxy may answer with one.
  bool is_page() const {
    const char* type = nullptr;
    curl_.easy_getinfo(easy_.get(), CURLINFO_CONTENT_TYPE, &type);
    return status() < 300 && type && ::strncasecmp(type, "text/html", 9) == 0;
  }

  static int stop(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return stopping(); }

  static size_t take_bytes(char* bytes, size_t size, size_t count, void* self) {
    return static_cast<Request*>(self)->take({bytes, size * count}) ? size * count : 0;
  }

  bool take(std::string_view bytes) try {
    if (is_page()) return false;
    if (!std::exchange(begun_, true)) expect();
    if (!part_.append(bytes)) throw file_error("write", part_.path());
    progress_.received += static_cast<int64_t>(bytes.size());
    return true;
  } catch (...) {
    failure_ = std::current_exception();  // not through curl, which is C
    return false;
  }

  void expect() {
    curl_off_t rest = -1;
    curl_.easy_getinfo(easy_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &rest);
    if (rest < 0) return;
    const int64_t whole = from_ + rest;
    progress_.expected += whole - std::exchange(expected_, whole);
  }

  const CurlLibrary& curl_;
  std::unique_ptr<CURL, void (*)(CURL*)> easy_;
  PartFile& part_;
  DownloadProgress& progress_;
  int64_t& expected_;  // of this file, in the progress
  int64_t from_;
  bool begun_ = false;
  CURLcode result_ = CURLE_OK;
  char words_[CURL_ERROR_SIZE] = "";
  std::exception_ptr failure_;
};

void wait(double seconds) {
  for (; seconds > 0 && !stopping(); seconds -= 0.1) {
    const timespec part{0, 100'000'000};
    ::nanosleep(&part, nullptr);
  }
}

// The attempts at one file.
class Fetch {
 public:
  Fetch(const Download& wanted, const DownloadOptions& options, PartFile& part,
        DownloadProgress& progress)
      : wanted_(wanted),
        options_(options),
        part_(part),
        progress_(progress),
        expected_(wanted.bytes) {}

  void run() {
    if (!can_continue()) start_over();
    furthest_ = part_.size();
    while (!stopping()) {
      const std::string problem = attempt();
      if (stopping()) break;
      if (problem.empty()) return part_.finish();
      count_failure(problem);
      wait(options_.first_wait * std::pow(2, failures_ - 1));
    }
    if (!can_continue()) part_.clear();
  }

 private:
  bool can_continue() const {
    return wanted_.checked && (wanted_.bytes > 0 || !wanted_.sha256.empty());
  }

  // What is wrong with it, or nothing.
  std::string attempt() {
    ++attempts_;
    if (wanted_.bytes == 0 || part_.size() != wanted_.bytes) {
      Request request(wanted_.address, part_, progress_, expected_);
      const std::string problem = request.perform();
      if (stopping()) return problem;
      if (request.refuses_range()) {
        start_over();
        return attempt();
      }
      if (!problem.empty() && request.is_final()) throw error(problem + "; " + elsewhere());
      if (!problem.empty() && !can_continue()) start_over();
      if (!problem.empty()) return problem;
    }
    const std::string difference = wanted_.checked ? difference_of(wanted_, part_.path()) : "";
    if (difference.empty() && damage_of(wanted_, part_.path()).empty()) return "";
    const std::string problem =
        "what arrived " + (difference.empty() ? damage_of(wanted_, part_.path()) : difference);
    // The same answer again: the file is another one now.
    const std::string sha256 = sha256_file_hex(part_.path());
    const bool again = std::exchange(wrong_, sha256) == sha256;
    start_over();
    if (again)
      throw error(problem + ", twice; " +
                  (difference.empty() ? elsewhere()
                                      : "if the file has changed at its source and you trust it, "
                                        "--no-checksum takes it as it is"));
    return problem;
  }

  void start_over() {
    progress_.received -= part_.size();
    part_.clear();
  }

  // Attempts that came further than all before do not use up the retries.
  void count_failure(const std::string& problem) {
    const bool gained = part_.size() > furthest_;
    furthest_ = std::max(furthest_, part_.size());
    failures_ = gained ? 1 : failures_ + 1;
    if (failures_ > options_.retries)
      throw error(problem + ", after " + pluralize(attempts_, "attempt") +
                  "; run the command again" + (part_.size() > 0 ? " to continue" : "") + ", or " +
                  elsewhere());
    log(LogLevel::debug, "again: " + wanted_.address + ": " + problem);
  }

  Error error(const std::string& problem) const {
    return Error("data fetch: '" + wanted_.address + "': " + problem);
  }

  std::string elsewhere() const {
    return "set EXPRUN_MIRROR to the address of a mirror, or put the file at '" +
           wanted_.file.string() + "' yourself";
  }

  const Download& wanted_;
  const DownloadOptions& options_;
  PartFile& part_;
  DownloadProgress& progress_;
  int64_t expected_;
  std::string wrong_;  // SHA-256 of the last whole answer, which was wrong
  int64_t furthest_ = 0;
  int64_t failures_ = 0;  // since it last came further
  int64_t attempts_ = 0;
};

}  // namespace

std::string mirrored(const std::string& address) {
  const char* mirror = std::getenv("EXPRUN_MIRROR");
  if (!mirror || !*mirror) return address;
  std::string start = mirror;
  while (start.ends_with('/')) start.pop_back();
  return start + address.substr(address.find('/', address.find("://") + 3));
}

bool is_downloaded(const Download& wanted) {
  std::error_code ignored;
  return fs::is_regular_file(wanted.file, ignored) && difference_of(wanted, wanted.file).empty() &&
         damage_of(wanted, wanted.file).empty();
}

int64_t bytes_begun(const Download& wanted) {
  std::error_code error;
  const auto bytes = fs::file_size(part_path(wanted.file), error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

void download(const Download& wanted, const DownloadOptions& options, DownloadProgress& progress) {
  auto part = PartFile::take(wanted.file);
  if (!part || is_downloaded(wanted)) return;  // by the process that had it before
  Fetch(wanted, options, *part, progress).run();
}

void check_space(const std::vector<Download>& downloads, const fs::path& folder,
                 std::optional<int64_t> free) {
  int64_t needed = 0;
  for (const Download& download : downloads)
    needed += std::max<int64_t>(0, download.bytes - bytes_begun(download));
  if (free && needed > *free)
    throw Error("data fetch: " + binary_bytes(static_cast<double>(needed)) + " are needed in '" +
                folder.string() + "', and " + binary_bytes(static_cast<double>(*free)) +
                " are free; ask for fewer --shards, or another folder with --to");
}

}  // namespace exprun
