// What a server says of a file before its bytes come: the lines of its HTTP answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace exprun {

struct ReplyHead {
  int status = 0;
  bool says_end = false;            // by a length, in chunks, or by HTTP/2 and later
  bool is_page = false;             // text/html
  std::optional<int64_t> length;    // of what follows: Content-Length
  std::optional<int64_t> from;      // the first byte of Content-Range
  std::string tag, modified, date;  // ETag, Last-Modified, Date

  bool is_whole() const { return status == 200; }  // not a part
  // What tells this version of the file from all others, fit for If-Range: a strong ETag, or the
  // time of a change before the second of the answer. Empty if there is none.
  std::string version() const;
  // Whether it is of another version than version() once said. Of an answer that does not say,
  // nothing is known.
  bool contradicts(std::string_view version) const;
  // One line after the other. A status line begins anew: redirections have answers of their own.
  void read(std::string_view line);
};

// What keeps the bytes behind it from being the file's, from byte `from` on.
enum class Refusal {
  none,
  passing,      // another request may do better
  other_range,  // begin again at 0
  final,
};

enum class Remedy { none, elsewhere, by_hand };

struct Verdict {
  Refusal refusal = Refusal::none;
  std::string problem;
  Remedy remedy = Remedy::none;
};

// What is known of a file beforehand, so that what is wrong is noticed without the server's help.
struct Known {
  bool end = false;      // by its size, its checksum or its header: a torn one
  bool content = false;  // by its checksum: one put together from two versions
};

// `version`: of what arrived before byte `from`.
Verdict judge(const ReplyHead& head, int64_t from, std::string_view version, const Known& known);

}  // namespace exprun
