#include "control/data/read/records.h"

#include <string>

#include "base/diagnostic.h"
#include "control/data/read/byte_stream.h"
#include "control/data/read/format_sniffing.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// A text: the parts between separators, or all of it.

constexpr size_t kMostPiece = size_t{256} << 20;

class TextRecords final : public RecordReader {
 public:
  TextRecords(const std::filesystem::path& file, const RecordOptions& options)
      : file_(file), options_(options), buffer_(open_bytes(file)) {
    if (options.format == "auto") refuse_other_format(buffer_, file);
  }

  // How much was read at a time does not count: only what is in sight of `enough` bytes.
  bool next(Record& record) override {
    size_t searched = 0;
    for (size_t enough = kChunkBytes;;) {
      const std::string_view rest = buffer_.rest().substr(0, enough);
      if (const size_t found = find_separator(rest, searched); found != std::string_view::npos)
        return give(record, rest, found);
      searched =
          rest.size() < options_.separator.size() ? 0 : rest.size() - options_.separator.size();
      if (rest.size() < enough) {
        if (!buffer_.fill()) return give_last(record);
        continue;
      }
      if (const size_t cut = certain_cut(rest)) return give_piece(record, rest, cut);
      if ((enough *= 2) > kMostPiece)
        throw Error("data: '" + file_.string() +
                    "' has a document of more than 256 MiB that cannot be split between tokens; "
                    "give a separator");
    }
  }
  const ByteStream& stream() const override { return buffer_.stream(); }
  int64_t separators() const override { return separators_; }

 private:
  size_t find_separator(std::string_view rest, size_t from) const {
    return options_.separator.empty() ? std::string_view::npos
                                      : rest.find(options_.separator, from);
  }

  // A separator may have begun at the end of what is read.
  size_t certain_cut(std::string_view rest) const {
    const size_t torn = options_.separator.empty() ? 0 : options_.separator.size() - 1;
    return options_.safe_cut(rest.substr(0, rest.size() - torn));
  }

  bool give(Record& record, std::string_view rest, size_t found) {
    const size_t kept = options_.keep_separator ? options_.separator.size() : 0;
    record = {rest.substr(0, found + kept), begins_, true};
    buffer_.take(found + options_.separator.size());
    begins_ = true;
    ++separators_;
    return true;
  }

  bool give_piece(Record& record, std::string_view rest, size_t cut) {
    record = {rest.substr(0, cut), begins_, false};
    buffer_.take(cut);
    begins_ = false;
    return true;
  }

  // After the last separator nothing is no document.
  bool give_last(Record& record) {
    const std::string_view rest = buffer_.rest();
    if (rest.empty() && begins_) return false;
    record = {rest, begins_, true};
    buffer_.take(rest.size());
    begins_ = true;
    return true;
  }

  std::filesystem::path file_;
  const RecordOptions& options_;
  StreamBuffer buffer_;
  bool begins_ = true;
  int64_t separators_ = 0;
};

// JSON Lines: a record a line. JSON: the elements of one array, found by their brackets, so that
// the array is never in memory as a whole. The records themselves are parsed later.

constexpr size_t kMostRecord = size_t{256} << 20;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view trimmed_record(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

Error too_long(const fs::path& file) {
  return Error("data: '" + file.string() +
               "' has a record of more than 256 MiB; is it JSON Lines or an array of records?");
}

class JsonLines final : public RecordReader {
 public:
  explicit JsonLines(const fs::path& file) : file_(file), buffer_(open_bytes(file)) {
    refuse_wide_encoding(buffer_, file);
  }

  bool next(Record& record) override {
    for (;;) {
      std::string_view line = take_line();
      if (line.data() == nullptr) return false;
      if (++line_ == 1 && line.starts_with(kByteOrderMark))
        line.remove_prefix(kByteOrderMark.size());
      record = {trimmed_record(line), true, true, line_};
      if (!record.bytes.empty()) return true;
    }
  }
  const ByteStream& stream() const override { return buffer_.stream(); }

 private:
  // No data at the end.
  std::string_view take_line() {
    size_t searched = 0;
    for (;;) {
      const std::string_view rest = buffer_.rest();
      const size_t end = rest.find('\n', searched);
      if (end != std::string_view::npos) {
        buffer_.take(end + 1);
        return rest.substr(0, end);
      }
      searched = rest.size();
      if (searched > kMostRecord) throw too_long(file_);
      if (buffer_.fill()) continue;
      const std::string_view last = buffer_.rest();
      buffer_.take(last.size());
      return last.empty() ? std::string_view() : last;
    }
  }

  fs::path file_;
  StreamBuffer buffer_;
  int64_t line_ = 0;
};

// Where an element of an array ends, byte by byte.
class ElementEnd {
 public:
  // True at the ',' or ']' after the element.
  bool ends_at(char c) {
    if (in_string_) {
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = true;
      else if (c == '"')
        in_string_ = false;
      return false;
    }
    if (depth_ == 0 && (c == ',' || c == ']')) return true;
    if (c == '"') in_string_ = true;
    if (c == '{' || c == '[') ++depth_;
    if (c == '}' || c == ']') --depth_;
    return false;
  }

 private:
  int64_t depth_ = 0;
  bool in_string_ = false, escaped_ = false;
};

class JsonArray final : public RecordReader {
 public:
  explicit JsonArray(const fs::path& file) : file_(file), buffer_(open_bytes(file)) {
    refuse_wide_encoding(buffer_, file);
  }

  bool next(Record& record) override {
    if (!started_) start();
    if (finished_) return end();
    ElementEnd element;
    for (size_t at = 0;; ++at) {
      if (at > kMostRecord) throw too_long(file_);
      while (at >= buffer_.rest().size())
        if (!buffer_.fill()) throw broken("ends inside the array; download or create it again");
      if (!element.ends_at(buffer_.rest()[at])) continue;
      const std::string_view rest = buffer_.rest();
      record = {trimmed_record(rest.substr(0, at)), true, true};
      finished_ = rest[at] == ']';
      if (record.bytes.empty())
        throw broken(std::string("has a comma with no record ") + (finished_ ? "after" : "before") +
                     " it; remove that comma");
      buffer_.take(at + 1);
      return true;
    }
  }
  const ByteStream& stream() const override { return buffer_.stream(); }

 private:
  Error broken(const std::string& what) const {
    return Error("data: '" + file_.string() + "' " + what);
  }

  Error no_array() {
    std::string remedy;
    if (look() == '{')
      remedy = is_object_per_line()
                   ? ", or write format = \"json_lines\""
                   : ": put a single record between [ and ], or take the array out of "
                     "the object that contains it (jq .NAME)";
    return broken("does not begin with '['; it must be one JSON array of records" + remedy);
  }

  // By the first line's ends and the beginning of the next.
  bool is_object_per_line() {
    char last = '\0';
    for (size_t passed = 0; passed < kMostRecord;) {
      const std::string_view rest = buffer_.rest();
      const std::string_view line = rest.substr(0, rest.find('\n'));
      if (const auto shown = trimmed_record(line); !shown.empty()) last = shown.back();
      buffer_.take(line.size());
      if (line.size() < rest.size()) return last == '}' && look() == '{';
      passed += line.size();
      if (!buffer_.fill()) return false;
    }
    return false;
  }

  // The next byte that is no blank, untaken; 0 at the end.
  char look() {
    for (;;) {
      while (!buffer_.rest().empty() && is_blank(buffer_.rest().front())) buffer_.take(1);
      if (!buffer_.rest().empty()) return buffer_.rest().front();
      if (!buffer_.fill()) return '\0';
    }
  }

  void start() {
    started_ = true;
    if (buffer_.has(kByteOrderMark.size()) && buffer_.rest().starts_with(kByteOrderMark))
      buffer_.take(kByteOrderMark.size());
    if (look() != '[') throw no_array();
    buffer_.take(1);
    if (look() != ']') return;
    buffer_.take(1);
    finished_ = true;
  }

  // After the array blanks may stand and nothing else.
  bool end() {
    if (look() != '\0' || !buffer_.rest().empty())
      throw broken(
          "continues after its array; it must be one JSON array of records, with nothing after it");
    return false;
  }

  fs::path file_;
  StreamBuffer buffer_;
  bool started_ = false, finished_ = false;
};

}  // namespace

std::unique_ptr<RecordReader> open_text(const std::filesystem::path& file,
                                        const RecordOptions& options) {
  return std::make_unique<TextRecords>(file, options);
}

std::unique_ptr<RecordReader> open_json_lines(const fs::path& file) {
  return std::make_unique<JsonLines>(file);
}

std::unique_ptr<RecordReader> open_json_array(const fs::path& file) {
  return std::make_unique<JsonArray>(file);
}

std::string format_of_file(const fs::path& file, const std::string& written) {
  if (written != "auto") return written;
  const std::string extension = content_extension(file);
  if (extension == ".jsonl" || extension == ".ndjson") return "json_lines";
  return extension == ".json" ? "json" : "text";
}

std::unique_ptr<RecordReader> open_records(const fs::path& file, const RecordOptions& options) {
  const std::string format = format_of_file(file, options.format);
  if (format == "json_lines") return open_json_lines(file);
  if (format == "json") return open_json_array(file);
  return open_text(file, options);
}

}  // namespace exprun
