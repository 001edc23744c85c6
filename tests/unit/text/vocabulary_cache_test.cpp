// Vocabularies are read once, and never taken for others.
#include "text/vocabulary_cache.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "support/byte_level.h"
#include "support/temporary_folder.h"
#include "text/bpe_tokenizer.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

// Sets a variable, or takes it away, until its end.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~Variable() { set(old_); }

 private:
  void set(const std::optional<std::string>& value) const {
    value ? ::setenv(name_, value->c_str(), /*overwrite=*/1) : ::unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> old_;
};

// A cache of its own with a vocabulary in which "ab" is one token.
struct Cached {
  TemporaryFolder folder;
  Variable cache{"XDG_CACHE_HOME", (folder.path() / "cache").string()};
  fs::path vocabulary = write("tokenizer.json", {{"a", "b"}});

  fs::path write(const std::string& name,
                 const std::vector<std::pair<std::string, std::string>>& merges) const {
    return folder.write(name, small_tokenizer(byte_level(true), merges).dump());
  }

  // In which "abc" becomes {256, 'c'}.
  Tokens tokens() const { return load_bpe_tokenizer(vocabulary)->encode("abc"); }

  std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry :
         fs::directory_iterator(folder.path() / "cache/exprun/vocabularies", none))
      files.push_back(entry.path());
    return files;
  }

  fs::path entry() const {
    const auto files = entries();
    REQUIRE(files.size() == 1);
    return files[0];
  }
};

const Tokens kTokens{256, 'c'};

}  // namespace

TEST_CASE("vocabulary cache: what was read once is not read again") {
  const Cached cached;
  CHECK(cached.tokens() == kTokens);
  const fs::path entry = cached.entry();
  const std::string tables = read_file(entry);
  fs::remove(entry);

  // Those of another vocabulary under its name: they are what counts.
  load_bpe_tokenizer(cached.write("other/tokenizer.json", {{"b", "c"}}));
  fs::rename(cached.entry(), entry);
  CHECK(cached.tokens() == Tokens{'a', 256});
  write_file(entry, tables);
  CHECK(cached.tokens() == kTokens);
}

TEST_CASE("vocabulary cache: content names an entry, not a path") {
  const Cached cached;
  CHECK(cached.tokens() == kTokens);
  cached.write("tokenizer.json", {{"b", "c"}});
  CHECK(cached.tokens() == Tokens{'a', 256});
  CHECK(cached.entries().size() == 2);
  load_bpe_tokenizer(cached.write("copy/tokenizer.json", {{"b", "c"}}));
  CHECK(cached.entries().size() == 2);
}

TEST_CASE("vocabulary cache: a damaged entry is made anew") {
  const Cached cached;
  CHECK(cached.tokens() == kTokens);
  const std::string good = read_file(cached.entry());
  for (const size_t place : {size_t{0}, size_t{40}, size_t{64}, size_t{100}, good.size() - 1}) {
    CAPTURE(place);
    std::string damaged = good;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    write_file(cached.entry(), damaged);
    CHECK(cached.tokens() == kTokens);
    CHECK(read_file(cached.entry()) == good);
  }
  for (const size_t size : {size_t{0}, size_t{32}, size_t{70}, size_t{96}, good.size() - 1}) {
    CAPTURE(size);
    write_file(cached.entry(), good.substr(0, size));
    CHECK(cached.tokens() == kTokens);
    CHECK(read_file(cached.entry()) == good);
  }
}

TEST_CASE("vocabulary cache: tables that cannot be are made anew, though their hash is right") {
  const Cached cached;
  CHECK(cached.tokens() == kTokens);
  const std::string good = read_file(cached.entry());
  for (const size_t byte : {0, 7, 15, 23, 24, 31, 32, 39}) {  // of the sizes
    CAPTURE(byte);
    std::string others = good.substr(32);
    others[byte] = static_cast<char>(others[byte] + 1);
    write_file(cached.entry(), hash_hex(others) + others);
    CHECK(cached.tokens() == kTokens);
    CHECK(read_file(cached.entry()) == good);
  }
}

TEST_CASE("vocabulary cache: what nobody has used for a month goes") {
  const Cached cached;
  CHECK(cached.tokens() == kTokens);
  const fs::path used = cached.entry(), unused = used.parent_path() / "unused";
  const auto now = fs::file_time_type::clock::now();
  write_file(unused, "");
  for (const fs::path& file : {used, unused})
    fs::last_write_time(file, now - std::chrono::days(31));
  CHECK(cached.tokens() == kTokens);
  CHECK(fs::last_write_time(used) >= now - std::chrono::hours(1));
  load_bpe_tokenizer(cached.write("other/tokenizer.json", {{"b", "c"}}));
  CHECK(fs::exists(used));
  CHECK_FALSE(fs::exists(unused));

  // What a process that was killed was writing goes after a day.
  write_file(unused, "");
  const fs::path torn = unused.string() + ".tmp-1-0", being_written = unused.string() + ".tmp-2-0";
  for (const fs::path& file : {torn, being_written}) write_file(file, "");
  for (const fs::path& file : {torn, unused}) fs::last_write_time(file, now - std::chrono::days(2));
  load_bpe_tokenizer(cached.write("third/tokenizer.json", {{"c", "d"}}));
  CHECK_FALSE(fs::exists(torn));
  CHECK(fs::exists(being_written));
  CHECK(fs::exists(unused));
}

TEST_CASE("vocabulary cache: nothing is kept of files that change while they are read") {
  const Cached cached;
  const VocabularyCache cache({cached.vocabulary});
  const BpeVocabulary vocabulary = read_bpe_vocabulary({cached.vocabulary});
  const BpeTables tables{
      vocabulary, TokenTable(vocabulary.tokens), MergeTable(vocabulary.merges), {}};
  cached.write("tokenizer.json", {{"b", "c"}});
  cache.keep(tables);
  CHECK(cached.entries().empty());
}

TEST_CASE("vocabulary cache: without a place for it vocabularies are read") {
  const Cached cached;
  {
    const Variable none("XDG_CACHE_HOME", std::nullopt), home("HOME", std::nullopt);
    CHECK(cached.tokens() == kTokens);
  }
  cached.folder.write("cache", "a file");
  CHECK(cached.tokens() == kTokens);
}
