#include "control/data/download.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/atomic_file.h"
#include "base/file_error.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/unique_fd.h"
#include "control/data/curl_library.h"
#include "control/data/sha256.h"
#include "text/token_shard.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr long kConnectSeconds = 20, kStallSeconds = 30;

int64_t bytes_there(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  return error ? 0 : static_cast<int64_t>(size);
}

fs::path part_of(const fs::path& file) {
  return file.string() + ".part";
}

bool stopping() {
  return stop_requested() != StopRequest::none;
}

// What is wrong with a file that arrived whole, or nothing.
std::string problem_of(const Download& wanted, const fs::path& file) {
  if (wanted.bytes > 0 && bytes_there(file) != wanted.bytes)
    return "has " + std::to_string(bytes_there(file)) + " bytes instead of " +
           std::to_string(wanted.bytes);
  if (!wanted.sha256.empty() && sha256_file_hex(file) != wanted.sha256)
    return "has another SHA-256 than " + wanted.sha256;
  if (wanted.tokens) try {
      inspect_shard(file, ShardFormat::with_header);
    } catch (const Error&) {
      return "is no whole token shard";
    }
  return "";
}

// One request, from where the part ends.
class Request {
 public:
  Request(const Download& wanted, std::atomic<int64_t>& received)
      : curl_(CurlLibrary::instance()),
        easy_(curl_.easy_init(), curl_.easy_cleanup),
        part_(part_of(wanted.file)),
        fd_(::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)),
        received_(received),
        from_(bytes_there(part_)) {
    if (!fd_) throw file_error("write", part_);
    set(CURLOPT_URL, wanted.address.c_str());
    set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(from_));
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, kStallSeconds);
    set(CURLOPT_USERAGENT, "exprun");
    set(CURLOPT_WRITEFUNCTION, &Request::write);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Request::progress);
    at_ = from_;
  }

  // Empty if all arrived.
  std::string perform() {
    const CURLcode result = curl_.easy_perform(easy_.get());
    curl_.easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status_);
    if (failed_) throw file_error("write", part_, failed_);
    if (status_ >= 400) return "the server answers " + std::to_string(status_);
    if (result != CURLE_OK) return curl_.easy_strerror(result);
    if (::fsync(fd_.get()) != 0) throw file_error("write", part_);
    return "";
  }

  long status() const { return status_; }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_.easy_setopt(easy_.get(), option, value);
  }

  static size_t write(char* bytes, size_t size, size_t count, void* self) {
    return static_cast<Request*>(self)->take(bytes, size * count) ? size * count : 0;
  }
  static int progress(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return stopping(); }

  // An answer that is no file is not kept; one without a range begins at the beginning.
  bool take(const char* bytes, size_t size) {
    long status = 0;
    curl_.easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 400) return true;
    if (status == 200 && from_ > 0) {
      received_ -= at_;
      at_ = from_ = 0;
      if (::ftruncate(fd_.get(), 0) != 0) return fail();
    }
    while (size > 0) {
      const ssize_t written = ::pwrite(fd_.get(), bytes, size, at_);
      if (written < 0) return fail();
      at_ += written;
      received_ += written;
      bytes += written;
      size -= static_cast<size_t>(written);
    }
    return true;
  }

  bool fail() {
    failed_ = errno;
    return false;
  }

  const CurlLibrary& curl_;
  std::unique_ptr<CURL, void (*)(CURL*)> easy_;
  fs::path part_;
  UniqueFd fd_;
  std::atomic<int64_t>& received_;
  int64_t from_, at_ = 0;
  long status_ = 0;
  int failed_ = 0;
};

void wait(double seconds) {
  for (; seconds > 0 && !stopping(); seconds -= 0.1) {
    const timespec slice{0, 100'000'000};
    ::nanosleep(&slice, nullptr);
  }
}

Error fetch_error(const Download& wanted, const std::string& problem) {
  return Error("data fetch: '" + wanted.address + "': " + problem);
}

// Whether another request may do better.
bool is_passing(long status) {
  return status < 400 || status == 408 || status == 429 || status >= 500;
}

void forget(const fs::path& part, std::atomic<int64_t>& received) {
  received -= bytes_there(part);
  std::error_code ignored;
  fs::remove(part, ignored);
}

}  // namespace

bool is_downloaded(const Download& wanted) {
  std::error_code ignored;
  return fs::exists(wanted.file, ignored) && problem_of(wanted, wanted.file).empty();
}

void download(const Download& wanted, const DownloadOptions& options,
              std::atomic<int64_t>& received) {
  const fs::path part = part_of(wanted.file);
  received += bytes_there(part);
  std::string problem;
  for (int attempt = 0; attempt <= options.retries; ++attempt) {
    if (attempt > 0) {
      log(LogLevel::debug, "again: " + wanted.address + ": " + problem);
      wait(options.first_wait * std::pow(2, attempt - 1));
    }
    if (stopping()) return;
    const bool complete = wanted.bytes > 0 && bytes_there(part) == wanted.bytes;
    if (!complete) {
      Request request(wanted, received);
      problem = request.perform();
      if (stopping()) return;
      if (request.status() == 416)
        forget(part, received);  // the part is longer than the file
      else if (!is_passing(request.status())) {
        if (bytes_there(part) == 0) forget(part, received);
        throw fetch_error(wanted, problem + (request.status() == 404
                                                 ? "; it may have moved: give --mirror ADDRESS"
                                                 : ""));
      }
      if (!problem.empty()) continue;
    }
    problem = problem_of(wanted, part);
    if (problem.empty()) {
      fs::rename(part, wanted.file);
      return sync_file(wanted.file.parent_path());
    }
    problem = "what arrived " + problem;
    forget(part, received);
  }
  throw fetch_error(wanted, problem + " (after " + std::to_string(options.retries) +
                                " retries); call again, it goes on where it was");
}

}  // namespace exprun
