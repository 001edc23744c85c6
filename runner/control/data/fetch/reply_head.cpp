#include "control/data/fetch/reply_head.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/trimmed.h"

namespace exprun {
namespace {

constexpr int kPartial = 206, kUnauthorized = 401, kForbidden = 403, kNotFound = 404,
              kNoSuchRange = 416;

std::string small(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return copy;
}

// The first number of a text.
std::optional<int64_t> number_in(std::string_view text) {
  const size_t digit = text.find_first_of("0123456789");
  if (digit == std::string_view::npos) return std::nullopt;
  int64_t number = 0;
  const auto read = std::from_chars(text.data() + digit, text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// Of "Name: value".
std::string value_of(std::string_view line) {
  line.remove_prefix(std::min(line.find(':') + 1, line.size()));
  return std::string(trimmed(line.substr(0, line.find_first_of("\r\n"))));
}

bool is_strong_tag(std::string_view tag) {
  return tag.starts_with('"');
}

bool may_pass(int status) {
  return status == 408 || status == 429 || status >= 500;
}

Verdict judge_status(int status) {
  const std::string problem = "the server answers " + std::to_string(status);
  if (status == kNoSuchRange) return {Refusal::other_range, problem};
  if (may_pass(status)) return {Refusal::passing, problem};
  if (status == kNotFound)
    return {Refusal::final, problem + ": it is not there, or no longer", Remedy::elsewhere};
  if (status == kUnauthorized || status == kForbidden)
    return {Refusal::final,
            problem + ": it may want a licence accepted or a token sent, and exprun does neither",
            Remedy::by_hand};
  return {Refusal::final, problem};
}

}  // namespace

void ReplyHead::read(std::string_view written) {
  const std::string line = small(written);
  if (line.starts_with("http/")) {
    *this = {};
    const size_t space = std::min(line.find(' '), line.size());
    status = static_cast<int>(number_in(std::string_view(line).substr(space)).value_or(0));
    says_end = !line.starts_with("http/1") && !line.starts_with("http/0");
  } else if (line.starts_with("content-length:")) {
    length = number_in(line);
    says_end = true;
  } else if (line.starts_with("transfer-encoding:")) {
    says_end |= line.find("chunked") != std::string::npos;
  } else if (line.starts_with("content-type:")) {
    is_page = line.find("text/html") != std::string::npos;
  } else if (line.starts_with("content-range:")) {
    from = number_in(line);
  } else if (line.starts_with("etag:")) {
    tag = value_of(written);
  } else if (line.starts_with("last-modified:")) {
    modified = value_of(written);
  } else if (line.starts_with("date:")) {
    date = value_of(written);
  }
}

std::string ReplyHead::version() const {
  if (is_strong_tag(tag)) return tag;
  return date.empty() || modified == date ? "" : modified;
}

bool ReplyHead::contradicts(std::string_view version) const {
  const std::string& now = is_strong_tag(version) ? tag : modified;
  return !version.empty() && !now.empty() && now != version;
}

Verdict judge(const ReplyHead& head, int64_t from, std::string_view version, const Known& known) {
  if (!head.is_whole() && head.status != kPartial) return judge_status(head.status);
  if (head.is_page)
    return {
        Refusal::final,
        "the server sends a page (text/html), not the file: a login or a proxy may be before it",
        Remedy::elsewhere};
  if (!known.end && !head.says_end)
    return {Refusal::final,
            "the server does not say where the file ends, so that a part of it would look whole",
            Remedy::elsewhere};
  if (head.status == kPartial && head.from != from)
    return {Refusal::other_range, "the server sends another part than the one asked for"};
  if (head.status == kPartial && !known.content && head.contradicts(version))
    return {Refusal::other_range, "the file has changed on the server"};
  return {};
}

}  // namespace exprun
