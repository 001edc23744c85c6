// One request for a file, from where its part ends.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "control/data/fetch/curl_library.h"
#include "control/data/fetch/download_progress.h"
#include "control/data/fetch/part_file.h"
#include "control/data/fetch/redirections.h"
#include "control/data/fetch/reply_head.h"

namespace exprun {

class HttpRequest {
 public:
  HttpRequest(const std::string& address, PartFile& part, const Known& known,
              FileProgress& progress);

  // No problem if all arrived. Throws Error when the part cannot be written.
  Verdict perform();
  // Whether the server sent all of the file where the rest of it was asked for.
  bool began_again() const { return from_ > 0 && head_.is_whole(); }
  // Whether the server said where the file ends.
  bool says_end() const { return head_.says_end; }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_.easy_setopt(easy_.get(), option, value);
  }

  static size_t take_line(char* bytes, size_t size, size_t count, void* self);
  static size_t take_bytes(char* bytes, size_t size, size_t count, void* self);
  static int stop(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
  void ask_for_range();
  void begin_body();
  bool take(std::string_view bytes);
  Verdict verdict() const;
  Verdict verdict_on(CURLcode failure) const;
  std::string redirected_to() const;

  const CurlLibrary& curl_;
  std::unique_ptr<CURL, void (*)(CURL*)> easy_;
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> lines_;
  PartFile& part_;
  FileProgress& progress_;
  ReplyHead head_;
  const Redirections& redirections_;
  Known known_;
  std::string version_;  // of the part, where it matters
  int64_t from_;
  bool begun_ = false;
  std::exception_ptr failure_;
};

}  // namespace exprun
