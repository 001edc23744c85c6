#include "control/data/fetch/http_request.h"

#include <utility>

#include "base/file_error.h"
#include "base/signals.h"

namespace exprun {
namespace {

constexpr long kConnectSeconds = 20, kStallSeconds = 30, kRedirections = 10;

// The commonest failures in our words.
struct Failure {
  CURLcode code;
  const char* told;
  Remedy remedy;
};

constexpr Failure kFailures[] = {
    {CURLE_URL_MALFORMAT, "this is no address", Remedy::elsewhere},
    {CURLE_COULDNT_RESOLVE_PROXY, "the proxy's host is not known", Remedy::none},
    {CURLE_COULDNT_RESOLVE_HOST, "the host is not known", Remedy::elsewhere},
    {CURLE_COULDNT_CONNECT, "the server cannot be reached", Remedy::elsewhere},
    {CURLE_OPERATION_TIMEDOUT, "the server does not answer in time, or no longer", Remedy::none},
    {CURLE_PARTIAL_FILE, "the answer ended early", Remedy::none},
    {CURLE_GOT_NOTHING, "the server answers nothing", Remedy::none},
};

Verdict told(CURLcode code, Refusal refusal, const std::string& words) {
  for (const Failure& failure : kFailures)
    if (failure.code == code)
      return {refusal, std::string(failure.told) + " (curl: " + words + ')', failure.remedy};
  return {refusal, words};
}

}  // namespace

HttpRequest::HttpRequest(const std::string& address, PartFile& part, const Known& known,
                         FileProgress& progress)
    : curl_(CurlLibrary::instance()),
      easy_(curl_.easy_init(), curl_.easy_cleanup),
      lines_(nullptr, curl_.slist_free_all),
      part_(part),
      progress_(progress),
      redirections_(redirections_from(address)),
      known_(known),
      version_(known.content ? "" : part.version()),
      from_(known.content || !version_.empty() ? part.size() : 0) {
  set(CURLOPT_URL, address.c_str());
  set(CURLOPT_DEFAULT_PROTOCOL, "http");  // curl takes one of its own for ftp.host
  if (from_ > 0) ask_for_range();
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kRedirections);
  keep_to(redirections_, curl_, easy_.get());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  set(CURLOPT_USERAGENT, "exprun");
  set(CURLOPT_HEADERFUNCTION, &HttpRequest::take_line);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &HttpRequest::take_bytes);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &HttpRequest::stop);
}

void HttpRequest::ask_for_range() {
  // Not CURLOPT_RESUME_FROM: with it curl itself fails where a server has no ranges, before a byte
  // of the whole file that it sends instead.
  set(CURLOPT_RANGE, (std::to_string(from_) + "-").c_str());
  if (version_.empty()) return;
  lines_.reset(curl_.slist_append(nullptr, ("If-Range: " + version_).c_str()));
  set(CURLOPT_HTTPHEADER, lines_.get());
}

Verdict HttpRequest::perform() {
  const CURLcode result = curl_.easy_perform(easy_.get());
  if (failure_) std::rethrow_exception(failure_);
  if (result != CURLE_OK) return verdict_on(result);
  if (const Verdict found = verdict(); found.refusal != Refusal::none) return found;
  begin_body();  // of no bytes
  if (!part_.sync()) throw file_error("write", part_.path());
  return {};
}

// Before an answer there is none to judge.
Verdict HttpRequest::verdict() const {
  return head_.status != 0 ? judge(head_, from_, version_, known_) : Verdict{};
}

// What curl cannot do, or may not, no other request can.
Verdict HttpRequest::verdict_on(CURLcode failure) const {
  if (failure == CURLE_TOO_MANY_REDIRECTS)
    return {Refusal::final,
            "the server redirects more than " + std::to_string(kRedirections) + " times",
            Remedy::elsewhere};
  if (failure == CURLE_UNSUPPORTED_PROTOCOL && head_.status != 0)
    return {Refusal::final,
            "the server redirects to '" + redirected_to() + "', and " + redirections_.followed +
                " followed",
            Remedy::elsewhere};
  if (failure == CURLE_UNSUPPORTED_PROTOCOL || failure == CURLE_URL_MALFORMAT)
    return told(failure, Refusal::final, curl_.easy_strerror(failure));
  const Verdict found = verdict();
  if (found.refusal != Refusal::none) return found;
  return told(failure, Refusal::passing, curl_.easy_strerror(failure));
}

std::string HttpRequest::redirected_to() const {
  const char* address = "";
  curl_.easy_getinfo(easy_.get(), CURLINFO_EFFECTIVE_URL, &address);
  return address;
}

size_t HttpRequest::take_line(char* bytes, size_t size, size_t count, void* self) {
  static_cast<HttpRequest*>(self)->head_.read({bytes, size * count});
  return size * count;
}

size_t HttpRequest::take_bytes(char* bytes, size_t size, size_t count, void* self) {
  return static_cast<HttpRequest*>(self)->take({bytes, size * count}) ? size * count : 0;
}

int HttpRequest::stop(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return stop_requested() != StopRequest::none;
}

// An answer without a range begins at the beginning.
void HttpRequest::begin_body() {
  if (std::exchange(begun_, true)) return;
  if (from_ == 0 || head_.is_whole()) {
    progress_.receive(-part_.size());
    part_.begin(known_.content ? "" : head_.version());
  }
  if (head_.length) progress_.expect(part_.size() + *head_.length);
}

// An answer that is no file is not kept.
bool HttpRequest::take(std::string_view bytes) try {
  if (verdict().refusal != Refusal::none) return false;
  begin_body();
  if (!part_.append(bytes)) throw file_error("write", part_.path());
  progress_.receive(static_cast<int64_t>(bytes.size()));
  return true;
} catch (...) {
  failure_ = std::current_exception();  // not through curl, which is C
  return false;
}

}  // namespace exprun
