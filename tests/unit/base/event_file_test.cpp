#include "base/files/event_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "base/diagnostic.h"
#include "support/file_size_limit.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

std::string bytes_of(const std::filesystem::path& folder) {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(stream), {});
  }
  return all;
}

// The payloads; every checksum is looked at.
std::vector<std::string> records(std::string_view bytes) {
  std::vector<std::string> payloads;
  while (!bytes.empty()) {
    uint64_t length = 0;
    uint32_t of_length = 0, of_payload = 0;
    REQUIRE(bytes.size() >= 12);
    std::memcpy(&length, bytes.data(), 8);
    std::memcpy(&of_length, bytes.data() + 8, 4);
    CHECK(of_length == masked_crc32c(bytes.substr(0, 8)));
    REQUIRE(bytes.size() >= 16 + length);
    payloads.emplace_back(bytes.substr(12, length));
    std::memcpy(&of_payload, bytes.data() + 12 + length, 4);
    CHECK(of_payload == masked_crc32c(payloads.back()));
    bytes.remove_prefix(16 + length);
  }
  return payloads;
}

}  // namespace

TEST_CASE("event file: the checksum is CRC-32C") {
  // RFC 3720, B.4: 32 bytes of zero have 0x8a9136aa.
  const uint32_t crc = 0x8a9136aa;
  CHECK(masked_crc32c(std::string(32, '\0')) == (crc >> 15 | crc << 17) + 0xa282ead8);
}

TEST_CASE("event file: a header, then one record a value") {
  const TemporaryFolder folder;
  {
    EventFile file(folder.path() / "logs", 1234.5);
    file.scalar(1235, 7, "train/loss", 0.25);
    file.text(1236, 8, "sample", "Romeo");
  }
  const auto all = records(bytes_of(folder.path() / "logs"));
  REQUIRE(all.size() == 3);
  CHECK(all[0].ends_with("brain.Event:2"));
  // Event{2: step 7, 5: Summary{1: Value{1: tag, 2: 0.25f}}}
  CHECK(all[1].substr(9) ==
        std::string("\x10\x07\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15\0\0\x80\x3e", 23));
  CHECK(all[2].find("Romeo") != std::string::npos);
}

TEST_CASE("event file: what a full disk cut off hides nothing that comes later") {
  const TemporaryFolder folder;
  EventFile file(folder.path(), 1234.5);
  size_t written = 0;
  {
    const FileSizeLimit full(1000);
    CHECK_THROWS_AS(
        for (;; ++written) file.scalar(1235, static_cast<int64_t>(written), "train/loss", 0.25),
        Error);
  }
  CHECK(written > 0);
  file.scalar(1236, 100, "train/loss", 0.5);
  CHECK(records(bytes_of(folder.path())).size() == 1 + written + 1);
}

TEST_CASE("event file: values of a recipe become hyper-parameters of their type") {
  CHECK(std::get<double>(hyper_parameter("6e-4")) == 6e-4);
  CHECK(std::get<bool>(hyper_parameter("true")));
  CHECK(std::get<std::string>(hyper_parameter("\"adamw\"")) == "adamw");
  CHECK(std::get<std::string>(hyper_parameter("[0.9, 0.95]")) == "[0.9, 0.95]");
}
