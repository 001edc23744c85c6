// A text: the parts between separators, or all of it.
#include "base/diagnostic.h"
#include "control/data/read/record_readers.h"
#include "control/data/read/stream_buffer.h"
#include "control/data/read/unsaid_format.h"

namespace exprun {
namespace {

constexpr size_t kMostPiece = size_t{256} << 20;

class TextRecords final : public RecordReader {
 public:
  TextRecords(const std::filesystem::path& file, const RecordOptions& options)
      : file_(file), options_(options), buffer_(open_bytes(file)) {
    if (options.format == "auto") refuse_unsaid_format(buffer_, file);
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
                    "' has a document of more than 256 MiB that cannot be cut where its tokens "
                    "are not; give a separator");
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

  // Behind the last separator nothing is no document.
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

}  // namespace

std::unique_ptr<RecordReader> open_text(const std::filesystem::path& file,
                                        const RecordOptions& options) {
  return std::make_unique<TextRecords>(file, options);
}

}  // namespace exprun
