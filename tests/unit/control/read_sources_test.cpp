// What is read of a source, and what is refused: packings, pipes, JSON, names.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

#include "base/files/file.h"
#include "base/utf8.h"
#include "control/data/read/byte_stream.h"
#include "control/data/read/records.h"
#include "control/data/sources/sources.h"
#include "support/temporary_folder.h"
#include "support/text_preparation.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

const std::string kAll = "validation_fraction = 0.0\n";
const std::string kAsItIs = ", or set format = \"text\" to read it as is";

std::string read(const fs::path& path, const fs::path& store, const std::string& more = "") {
  return text_of(prepare(path, store, kAll + more).train);
}

// The complaint about a file of these bytes, its path as FILE.
std::string complaint_about(const TemporaryFolder& folder, const std::string& name,
                            const std::string& bytes, const std::string& more = "") {
  const fs::path file = folder.write(name, bytes);
  std::string text = complaint(file, folder.path() / "bad", kAll + more);
  const auto at = text.find(file.string());
  return at == std::string::npos ? text : text.replace(at, file.string().size(), "FILE");
}

// The names below `folder` that entries of `path` find, or the complaint.
std::string found(const TemporaryFolder& folder, const std::vector<std::string>& entries) try {
  Array array;
  for (const std::string& entry : entries) {
    const auto file = std::make_shared<SourceFile>(SourceFile{"test", "path"});
    array.push_back(Value(entry.starts_with("/") ? entry : (folder.path() / entry).string(),
                          {file, 0, 4}, Origin::file));
  }
  std::string names;
  for (const Source& source : find_sources(Value(std::move(array), {}, Origin::file), ""))
    names += fs::relative(source.file, folder.path()).string() + " ";
  return names;
} catch (const RecipeError& error) {
  return error.diagnostics().at(0).message + "; " + error.diagnostics().at(0).help;
}

std::string little_endian(uint32_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// The sizes of the pieces that a file is read in.
std::vector<size_t> piece_sizes(const fs::path& file, const std::string& separator) {
  const auto cut = [](std::string_view text) { return text.rfind(' ') + 1; };
  const RecordOptions options{"text", separator, false, cut};
  const auto reader = open_records(file, options);
  std::vector<size_t> sizes;
  for (Record record; reader->next(record);) sizes.push_back(record.bytes.size());
  return sizes;
}

// The same of a pipe that gives 3,000 bytes at a time.
std::vector<size_t> sizes_of_slow(const std::string& text, const std::string& separator) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_DIRECT) == 0);  // a read gets what one write gave, at most
  const UniqueFd reader(ends[0]);
  std::thread writer([&, fd = ends[1]] {
    const UniqueFd pipe(fd);
    write_all(pipe.get(), text.data(), kPackingBytes, "pipe");
    for (size_t at = kPackingBytes; at < text.size(); at += 3000)
      write_all(pipe.get(), text.data() + at, std::min<size_t>(3000, text.size() - at), "pipe");
  });
  const auto sizes = piece_sizes("/dev/fd/" + std::to_string(reader.get()), separator);
  writer.join();
  return sizes;
}

}  // namespace

TEST_CASE("sources: zstd with skippable frames, as pzstd writes it, is unpacked") {
  const TemporaryFolder folder;
  for (const uint32_t magic : {0x184D2A50u, 0x184D2A5Fu}) {
    const std::string frame = little_endian(magic) + little_endian(4) + "size";
    const fs::path file = folder.write("a.zst", frame + zstd("hello ") + frame + zstd("you"));
    CHECK(read(file, folder.path() / "data") == "hello you");
  }
}

TEST_CASE("sources: gzip with zeros behind it is unpacked, with anything else it is not") {
  const TemporaryFolder folder;
  const std::string members = gzip("hello ") + std::string(300'000, '\0') + gzip("you");
  const fs::path file = folder.write("a.gz", members + std::string(300'000, '\0'));
  CHECK(read(file, folder.path() / "data") == "hello you");
  CHECK(complaint_about(folder, "b.gz", gzip("hello") + "xyz") ==
        "'FILE' is a damaged gzip file (incorrect header check); download or create it again");
}

TEST_CASE("sources: what is packed in a way that is not read is refused by its name") {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& bytes, const std::string& name) {
    CHECK(complaint_about(folder, "a.txt", bytes) ==
          "'FILE' is compressed with " + name +
              ", which is not supported; decompress it, or compress it again with gzip or zstd");
  };
  expect(std::string("\xfd\x37zXZ\0", 6) + "more", "xz");
  expect("BZh91AY&SY....", "bzip2");
  expect("\x04\x22\x4d\x18....", "lz4");
  expect("PK\x03\x04....", "zip");
  expect("7z\xbc\xaf\x27\x1c....", "7-Zip");
  expect("\x1f\x9d....", "compress");
  CHECK(read(folder.write("b.txt", "BZh9 is a text"), folder.path() / "data") == "BZh9 is a text");
}

TEST_CASE("sources: a file that is not what its name promises is refused") {
  const TemporaryFolder folder;
  for (const char* name : {"a.txt.gz", "a.jsonl.zst"})
    for (const char* bytes : {"plain text", ""})
      CHECK(complaint_about(folder, name, bytes) ==
            "'FILE' is neither a gzip nor a zstd file, although its name suggests it; "
            "download or create it "
            "again, or rename it if it is not compressed");
  CHECK(read(folder.write("b.gz", zstd("either")), folder.path() / "data") == "either");
}

TEST_CASE("sources: zstd of a long window is unpacked") {
  const TemporaryFolder folder;
  for (const int window : {28, 31})
    CHECK(read(folder.write("a.zst", zstd_of_window("hello you", window)),
               folder.path() / "data") == "hello you");
}

TEST_CASE("sources: capitals in a name, and long names of packings, say the same") {
  const TemporaryFolder folder;
  const std::string lines = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n";
  const std::string array = "[{\"text\": \"a\"}, {\"text\": \"b\"}]";
  const std::pair<const char*, std::string> files[] = {{"a.JSONL", lines},
                                                       {"b.Ndjson", lines},
                                                       {"c.jsonl.zstd", zstd(lines)},
                                                       {"d.JSONL.GZIP", gzip(lines)},
                                                       {"e.Json.Zst", zstd(array)},
                                                       {"f.JSON", array}};
  for (const auto& [name, bytes] : files) {  // a store each: what has the same bytes is not read
    CAPTURE(name);
    CHECK(read(folder.write(name, bytes), folder.path() / "data" / name) == "ab");
  }
  CHECK(complaint_about(folder, "a.txt.GZIP", "plain") ==
        "'FILE' is neither a gzip nor a zstd file, although its name suggests it; download "
        "or create it again, "
        "or rename it if it is not compressed");
}

TEST_CASE("sources: a byte order mark before JSON is none of it") {
  const TemporaryFolder folder;
  const std::string mark = "\xef\xbb\xbf";
  CHECK(read(folder.write("a.jsonl", mark + "{\"text\": \"a\"}"), folder.path() / "data") == "a");
  CHECK(read(folder.write("b.jsonl", mark + "\r\n {\"text\": \"a\"}"), folder.path() / "data") ==
        "a");
  CHECK(read(folder.write("a.json", mark + " [{\"text\": \"a\"}]"), folder.path() / "data") == "a");
  CHECK(complaint_about(folder, "b.json", "\xef\xbb[]")
            .starts_with("'FILE' does not begin with '['"));
}

TEST_CASE("sources: a record is one with numbers of any size and halves of surrogate pairs") {
  const TemporaryFolder folder;
  for (const char* first : {"{\"n\": 1e400, \"text\": \"a\"}", "{\"text\": \"\\ud83d\"}"})
    CHECK(complaint_about(folder, "a", std::string(first) + "\n{\"text\": \"b\"}\n")
              .starts_with("'FILE' begins with a line that is a JSON object"));
}

TEST_CASE("sources: records are no text unless somebody says so") {
  const TemporaryFolder folder;
  const std::string record = "{\"text\": \"" + std::string(1'000'000, 'a') + "\"}";
  for (const std::string before : {"", "\xef\xbb\xbf", " \r\n\n\t"})
    for (const std::string behind : {"", "\n", "\r\n{\"text\": \"b\"}\n"}) {
      const std::string lines = before + record + behind;
      for (const auto& [name, bytes] :
           {std::pair{"a", lines}, {"a.txt", lines}, {"a.log", lines}, {"a.gz", gzip(lines)}})
        CHECK(complaint_about(folder, name, bytes) ==
              "'FILE' begins with a line that is a JSON object, but the recipe gives no "
              "format; write format = \"json_lines\"" +
                  kAsItIs);
      CHECK(read(folder.write("a.md", lines), folder.path() / "data") == lines);
      CHECK(read(folder.write("a", lines), folder.path() / "data", "format = \"text\"\n") == lines);
    }
  for (const char* array : {"[{\"text\": \"a\"}]", " [\n  {\n    \"text\": \"a\"\n  }\n]"})
    CHECK(complaint_about(folder, "a", array) ==
          "'FILE' begins with an array of JSON objects, but the recipe gives no format; "
          "write format = \"json\"" +
              kAsItIs);
}

TEST_CASE("sources: a text that begins as records do is one") {
  const TemporaryFolder folder;
  for (const char* text :
       {"{", "{a}\n", "{}x\n{}", "[1] is a number", "[[a link]]", "[{x", "\n \n", "{\n\"a\": 1}",
        "{}\nint main(){}", "{}", "{\"level\": 3}\n\nstarted\n", "{\"a\": 1}\n{\"b\"\n",
        "[ {\"note\"} ] is what he said", "[{\"a\\\": 1", "[{}]", "[{\"a\nb\": 1}]"})
    CHECK(read(folder.write("b", text), folder.path() / "data") == text);
}

TEST_CASE("sources: an archive and a token shard are no text unless somebody says so") {
  const TemporaryFolder folder;
  std::string tar(1024, '\0');
  tar.replace(0, 5, "a.txt").replace(257, 5, "ustar");
  for (const auto& [name, bytes] :
       {std::pair{"a.tar", tar}, {"a.txt", tar}, {"a.tgz", gzip(tar)}, {"a.tar.zst", zstd(tar)}})
    CHECK(complaint_about(folder, name, bytes) ==
          "'FILE' is a tar archive; extract it and give the files in it" + kAsItIs);
  for (const uint32_t magic : {20240520u, 20240801u, 20250211u})
    CHECK(complaint_about(folder, "a.bin", little_endian(magic) + little_endian(1)) ==
          "'FILE' is a token shard, not text; write type = \"token_shards\", with its path in "
          "'train'" +
              kAsItIs);
  const std::string parquet("PAR1\x15\x04 and more PAR1");
  for (const auto& [name, bytes] :
       {std::pair{"a.parquet", parquet}, {"b.txt", parquet}, {"c.gz", gzip(parquet)}})
    CHECK(complaint_about(folder, name, bytes) ==
          "'FILE' is a Parquet file, not text; export it as JSON Lines" + kAsItIs);
  for (const auto& [name, bytes] : {std::pair{"a.tar", tar}, {"a.parquet", parquet}})
    CHECK(read(folder.write(name, bytes), folder.path() / "data", "format = \"text\"\n") == bytes);
  for (const std::string text : {"PAR1", "PAR1\nis the mark", "PAR1 is the mark"})
    CHECK(read(folder.write("b", text), folder.path() / "data") == text);
}

TEST_CASE("sources: a pipe is refused, with the way to read it") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK(found(folder, {"pipe"}) ==
        "'" + (folder.path() / "pipe").string() +
            "' is not a regular file; read a pipe with exprun data prepare path=- --out DIR");
  CHECK(found(folder, {"/dev/null"}) ==
        "'/dev/null' is not a regular file; read a pipe with exprun data prepare path=- --out "
        "DIR");
}

TEST_CASE("sources: how much is read at a time changes no piece of a text") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; text.size() < 2'000'000; ++i)
    text += std::to_string(i) + (i % 50'000 == 0 ? "||" : " ");
  const fs::path file = folder.write("a.txt", text);
  for (const char* separator : {"", "||"}) {
    const auto sizes = piece_sizes(file, separator);
    CHECK(sizes == sizes_of_slow(text, separator));
    CHECK(sizes.size() > 5);
  }
}

TEST_CASE("sources: behind a JSON array nothing may stand") {
  const TemporaryFolder folder;
  CHECK(read(folder.write("good.json", "[{\"text\": \"a\"}] \n\t "), folder.path() / "data") ==
        "a");
  const std::string first = "[{\"text\": \"a\"}]";
  for (const std::string& more : {first, std::string(" garbage"), std::string(1, '\0')})
    CHECK(complaint_about(folder, "a.json", first + more) ==
          "'FILE' continues after its array; it must be one JSON array of records, with "
          "nothing after it");
  CHECK(
      complaint_about(folder, "b.json", "[]{}").starts_with("'FILE' continues after its array; "));
}

TEST_CASE("sources: what is no JSON array of records comes with what may help") {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& bytes, const std::string& complaint) {
    CAPTURE(bytes.substr(0, 100));
    CHECK(complaint_about(folder, "a.json", bytes) == "'FILE' " + complaint);
  };
  const std::string record = "{\"text\": \"a\"}";
  const std::string no_array = "does not begin with '['; it must be one JSON array of records";
  const std::string an_object = no_array +
                                ": put a single record between [ and ], or take the array out of "
                                "the object that contains it (jq .NAME)";
  const std::string long_record = "{\"text\": \"" + std::string(1'000'000, 'a') + "\"}";
  for (const std::string& line : {record, long_record})
    for (const char* end : {"\n", "\r\n", " \n\n "})
      expect(line + end + record, no_array + ", or write format = \"json_lines\"");
  for (const std::string& object :
       {record, long_record + "\n", "{\"data\": [" + record + "]}",
        "{\"data\": [\n" + record + "]}", "{\n" + record.substr(1), record + "\n[]"})
    expect(object, an_object);
  expect("", no_array);
  expect("\"a\"\n{", no_array);
  expect("[" + record + ",]", "has a comma with no record after it; remove that comma");
  expect("[" + record + ",," + record + "]",
         "has a comma with no record before it; remove that comma");
  expect("[," + record + "]", "has a comma with no record before it; remove that comma");
  for (const char* cut : {"[", "[{", "[{\"text\": \"a]", "[{},"})
    expect(cut, "ends inside the array; download or create it again");
}

TEST_CASE("sources: UTF-16 and UTF-32 are no texts unless somebody says so, and never JSON") {
  const TemporaryFolder folder;
  const std::tuple<std::string, std::string, std::string> kinds[] = {
      {std::string("\xff\xfe{\0}\0", 6), "UTF-16", "FF FE"},
      {std::string("\xfe\xff\0[\0]", 6), "UTF-16", "FE FF"},
      {std::string("\xff\xfe\0\0{\0\0\0", 8), "UTF-32", "FF FE 00 00"},
      {std::string("\0\0\xfe\xff\0\0\0{", 8), "UTF-32", "00 00 FE FF"}};
  for (const auto& [bytes, name_of, shown] : kinds) {
    const std::string complaint = "'FILE' is " + name_of + " (it begins with " + shown +
                                  "); convert it to UTF-8 (iconv -f " + name_of + " -t UTF-8)";
    for (const char* name : {"a.jsonl", "a.json"})
      CHECK(complaint_about(folder, name, bytes) == complaint);
    CHECK(complaint_about(folder, "b.jsonl.gz", gzip(bytes)) == complaint);
    CHECK(complaint_about(folder, "a", bytes, "format = \"json_lines\"\n") == complaint);
    for (const char* name : {"a", "a.txt", "a.csv"})
      CHECK(complaint_about(folder, name, bytes) == complaint + kAsItIs);
    CHECK(read(folder.write("c.txt", bytes), folder.path() / "data", "format = \"text\"\n") ==
          bytes);
  }
}

TEST_CASE("sources: a field that is nested too deep is an error, not a crash") {
  const TemporaryFolder folder;
  const auto record = [](size_t levels) {
    return "{\"text\": " + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  CHECK(read(folder.write("good.jsonl", record(256)), folder.path() / "data").size() == 512);
  for (const size_t levels : {size_t{257}, size_t{1'000'000}})
    CHECK(complaint_about(folder, "a.jsonl", record(levels)) ==
          "record 1 of 'FILE' (line 1) has arrays or objects nested more than 256 "
          "levels deep, in its field 'text', where text is expected");
}

TEST_CASE("sources: a file that several entries name is read once, written twice it is twice") {
  const TemporaryFolder folder;
  for (const char* name : {"a.txt", "m.txt", "z.txt"}) folder.write(name, "x");
  CHECK(found(folder, {"m.txt", "*.txt"}) == "m.txt a.txt z.txt ");
  CHECK(found(folder, {"*.txt", "./m.txt"}) == "a.txt z.txt m.txt ");
  CHECK(found(folder, {"*.txt", "[az].txt"}) == "a.txt m.txt z.txt ");
  CHECK(found(folder, {"m.txt", "m.txt"}) == "m.txt m.txt ");
}

TEST_CASE("sources: a file whose name is a pattern comes with the way to write it") {
  const TemporaryFolder folder;
  folder.write("x[1].txt", "x");
  const std::string at = folder.path().string();
  CHECK(found(folder, {"x[1].txt"}) == "no file matches '" + at +
                                           "/x[1].txt'; a file has exactly this name: write '" +
                                           at + "/x\\[1].txt'");
  CHECK(found(folder, {"x\\[1].txt"}) == "x[1].txt ");
}

TEST_CASE("sources: a name that is no UTF-8 is shown as well as it can be") {
  const TemporaryFolder folder;
  folder.write("a\xff.txt", "abc");
  const PreparedData data = prepare(folder.path() / "*.txt", folder.path() / "data", kAll);
  CHECK(text_of(data.train) == "abc");
  CHECK(data.made_from["files"][0]["path"] ==
        to_valid_utf8((folder.path() / "a\xff.txt").string()));
}
