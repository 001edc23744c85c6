#include "control/data/read/split.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>

#include "base/random.h"
#include "control/data/read/document_chunks.h"
#include "support/temporary_folder.h"
#include "support/text_preparation.h"

using namespace exprun;

namespace {

const std::string kCharacters[] = {"a", "\u00e9", "\u4e2d", "\U0001f600", "\n"};

std::string text_of_bytes(size_t bytes, uint64_t seed) {
  std::string text;
  while (text.size() < bytes)
    text += kCharacters[random_below(std::size(kCharacters), {seed, text.size()})];
  return text;
}

int64_t characters_in(std::string_view text) {
  int64_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  return count;
}

ChunkOptions split_point(const std::vector<RawSource>& sources, double fraction, size_t threads,
                         const std::string& separator = "") {
  ChunkOptions options;
  options.records = {"auto", separator, true, [](std::string_view text) { return text.size(); }};
  find_split_point(sources, fraction, threads, options);
  return options;
}

RawSource source_of(const std::filesystem::path& file) {
  return {{file, {}, false}, Split::train};
}

}  // namespace

TEST_CASE("split point: of plain texts it is a byte, that of the character by counting") {
  const TemporaryFolder folder;
  // More than a thread counts at a time, of no even size, and a text of nothing.
  const std::string texts[] = {text_of_bytes(4'300'001, 1), "", text_of_bytes(70'003, 2)};
  std::vector<RawSource> sources;
  std::string all;
  for (size_t i = 0; i < std::size(texts); ++i) {
    sources.push_back(source_of(folder.write(std::to_string(i) + ".txt", texts[i])));
    all += texts[i];
  }
  for (const double fraction : {0.0001, 0.01, 0.1, 0.5, 0.9999}) {
    const auto units = static_cast<double>(characters_in(all));
    const auto expected = static_cast<int64_t>(std::floor((1 - fraction) * units));
    for (const size_t threads : {1, 3}) {
      const SplitOptions split = split_point(sources, fraction, threads).split;
      CAPTURE(fraction);
      CHECK_FALSE(split.units_are_characters);
      const auto from = static_cast<size_t>(split.validation_from);
      REQUIRE(from < all.size());
      CHECK((static_cast<unsigned char>(all[from]) & 0xc0) != 0x80);
      CHECK(characters_in(std::string_view(all).substr(0, from)) == expected);
    }
  }
}

TEST_CASE("split point: packed and divided texts are counted as they are read") {
  const TemporaryFolder folder;
  const std::string text = text_of_bytes(300'000, 3) + "|";
  const int64_t half = characters_in(text) / 2;
  const auto plain = source_of(folder.write("a.txt", text));
  const auto packed = source_of(folder.write("b.txt.gz", gzip(text)));
  for (const auto& [sources, separator] : {std::pair{std::vector{plain, packed}, std::string()},
                                           {std::vector{plain, plain}, std::string("|")}}) {
    const SplitOptions split = split_point(sources, 0.75, 2, separator).split;
    CHECK(split.units_are_characters);
    CHECK(split.validation_from == half);
  }
}
