#include "control/data/read/example_lengths.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "control/data/read/records.h"
#include "text/example_template.h"

namespace exprun {
namespace {

constexpr size_t kMostRead = size_t{1} << 13;  // examples: a moment of work

int64_t bytes_of(const std::vector<ExamplePart>& example) {
  int64_t bytes = 0;
  for (const ExamplePart& part : example) bytes += static_cast<int64_t>(part.text.size());
  return bytes;
}

void read_lengths(const std::filesystem::path& file, std::vector<int64_t>& lengths) {
  const ExampleTemplate plain("plain");
  RecordOptions options;
  options.format = "auto";
  const auto reader = open_records(file, options);
  for (Record record; lengths.size() < kMostRead && reader->next(record);)
    lengths.push_back(bytes_of(plain.fill(record.bytes)));
}

}  // namespace

std::optional<int64_t> usual_example_bytes(const std::vector<Source>& files) {
  std::vector<int64_t> lengths;
  try {
    for (const Source& source : files) read_lengths(source.file, lengths);
  } catch (const std::exception&) {  // preparing the data says what is wrong with them
  }
  if (lengths.empty()) return std::nullopt;
  const auto usual = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() * 19 / 20);
  std::nth_element(lengths.begin(), usual, lengths.end());
  return *usual;
}

}  // namespace exprun
