#include "base/files/safetensors_header.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <span>

#include "base/diagnostic.h"

namespace exprun {
namespace {

std::string stored(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

SafetensorsHeader parsed(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes.data(), bytes.size())), "w");
}

std::string refusal(const std::string& bytes) try {
  parsed(bytes);
  return "none";
} catch (const Error& error) {
  const std::string begin = "safetensors: 'w' is damaged or not a safetensors file: ";
  REQUIRE(std::string(error.what()).starts_with(begin));
  return std::string(error.what()).substr(begin.size());
}

std::string refusal_of_index(const std::string& text) try {
  parse_safetensors_index(text, "index");
  return "none";
} catch (const Error& error) {
  const std::string begin = "safetensors: 'index' is not an index of safetensors files: ";
  REQUIRE(std::string(error.what()).starts_with(begin));
  return std::string(error.what()).substr(begin.size());
}

// One tensor of four bytes.
std::string with_entry(const std::string& entry) {
  return stored("{\"w\":" + entry + "}", "1234");
}

const std::string kGood =
    stored(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2,1],)"
           R"("data_offsets":[0,4]},"b":{"dtype":"U8","shape":[0,9],"data_offsets":[4,4]}})",
           "1234");

TEST_CASE("safetensors: entries are where the header says") {
  const SafetensorsHeader header = parsed(kGood);
  CHECK(header.entries.size() == 2);
  CHECK(header.entries.at("a").dtype == "BF16");
  CHECK(header.entries.at("a").shape == std::vector<int64_t>{2, 1});
  CHECK(header.entries.at("b").begin == 4);
  CHECK(kGood.substr(header.data_begin) == "1234");
}

TEST_CASE("safetensors: what is not a strict file is refused with its reason") {
  CHECK(refusal("abc") == "it has only 3 bytes");
  CHECK(refusal(kGood.substr(0, 40)) == "its header should have " +
                                            std::to_string(kGood.size() - 12) +
                                            " bytes, but the file has 40");
  CHECK(refusal(kGood.substr(0, kGood.size() - 1)) ==
        "the offsets of 'a' do not match its shape or the file size");
  CHECK(refusal(kGood + "5") == "its tensors have 4 bytes, but the file has 5 after its header");
  CHECK(refusal(stored("", "")) == "its header does not begin with '{'");
  CHECK(refusal(stored(" {}", "")) == "its header does not begin with '{'");
  CHECK(refusal(with_entry("[]")) == "'w' is not a JSON object");
  CHECK(refusal(with_entry(R"({"dtype":"F4","shape":[1],"data_offsets":[0,4]})")) ==
        "'w' has the unsupported dtype \"F4\"");
  CHECK(refusal(with_entry(R"({"dtype":4,"shape":[1],"data_offsets":[0,4]})")) ==
        "'w' has the unsupported dtype 4");
  CHECK(refusal(with_entry(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})")) ==
        "the shape of 'w' is not a list of sizes");
  CHECK(refusal(with_entry(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})")) ==
        "the shape of 'w' is not a list of sizes");
  CHECK(refusal(with_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})")) ==
        "the offsets of 'w' are not two whole numbers");
  CHECK(refusal(with_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})")) ==
        "the offsets of 'w' are not two whole numbers");
  CHECK(refusal(with_entry(
            R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]})")) ==
        "the offsets of 'w' do not match its shape or the file size");
  CHECK(refusal(with_entry(
            R"({"dtype":"F32","shape":[0,9223372036854775807,3],"data_offsets":[0,0]})")) ==
        "the offsets of 'w' do not match its shape or the file size");
  CHECK(refusal(stored(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                       R"("w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                       "1234")) == "it contains the key 'w' twice");
  CHECK(refusal(with_entry(R"({"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]})")) ==
        "it contains the key 'dtype' twice");
  CHECK(refusal(stored(R"({"__metadata__":{"a":1}})", "")) ==
        "its __metadata__ is not an object of strings");
  CHECK(refusal(stored(R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                       R"("v":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
                       "1234")) == "its tensors overlap or leave a gap");
}

TEST_CASE("safetensors: an index names files beside it, and nothing else") {
  CHECK(parse_safetensors_index(R"({"metadata":{},"weight_map":{"a":"x.safetensors"}})", "i")
            .at("a") == "x.safetensors");
  CHECK(refusal_of_index("{}") == "it has no weight_map of names and files");
  CHECK(refusal_of_index("[]") == "it is not a JSON object");
  CHECK(refusal_of_index(R"({"weight_map":{"a":1}})") == "'a' has no name of a file");
  CHECK(refusal_of_index(R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})") ==
        "it contains the key 'a' twice");
  for (const std::string elsewhere :
       {"../x.safetensors", "/x.safetensors", "x/y.safetensors", "x.bin", "", "..",
        "a\\\\x.safetensors", "x\\u0000.safetensors"})
    CHECK(refusal_of_index("{\"weight_map\":{\"a\":\"" + elsewhere + "\"}}")
              .ends_with("which is not the name of a .safetensors file beside it"));
}

// Any bytes: an error of ours, or tensors that lie within the file. tests/fuzz looks further.
TEST_CASE("safetensors: a file with a few other bytes is refused or means something") {
  std::mt19937 random(25);
  size_t refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = kGood;
    for (size_t changes = 1 + random() % 3; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    try {
      for (const auto& [name, entry] : parsed(bytes).entries) CHECK(entry.end <= bytes.size());
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 10000);
}

}  // namespace
}  // namespace exprun
