#include "base/files/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/machine/network.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// --- protocol buffers: a field is its number with its wire type, then its bytes -----------------

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

template <class T>
std::string raw(T value) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  return {bytes.data(), bytes.size()};
}

std::string integer(int field, uint64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(value);
}

std::string bytes(int field, std::string_view value) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(value.size()) + std::string(value);
}

std::string real(int field, double value) {
  return varint(static_cast<uint64_t>(field) << 3 | 1) + raw(value);
}

std::string real32(int field, float value) {
  return varint(static_cast<uint64_t>(field) << 3 | 5) + raw(value);
}

// --- TensorBoard's messages ---------------------------------------------------------------------

std::string event(double seconds, int64_t step, std::string_view summary_value) {
  return real(1, seconds) + integer(2, static_cast<uint64_t>(step)) +
         bytes(5, bytes(1, summary_value));
}

std::string metadata(std::string_view plugin, std::string_view content) {
  return bytes(9, bytes(1, bytes(1, plugin) + bytes(2, content)));
}

std::string string_tensor(std::string_view text) {
  constexpr uint64_t kString = 7;
  const std::string shape = bytes(2, bytes(2, integer(1, 1)));
  return bytes(8, integer(1, kString) + shape + bytes(8, text));
}

std::string hyper_parameter_summary(std::string_view tag, int field, std::string_view message) {
  return bytes(1, tag) + metadata("hparams", integer(1, 0) + bytes(field, message));
}

uint64_t type_of(const HyperParameter& value) {
  constexpr uint64_t kString = 1, kBool = 2, kFloat = 3;
  if (std::holds_alternative<bool>(value)) return kBool;
  return std::holds_alternative<double>(value) ? kFloat : kString;
}

std::string protobuf_value(const HyperParameter& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return integer(4, *flag ? 1 : 0);
  if (const auto* number = std::get_if<double>(&value)) return real(2, *number);
  return bytes(3, std::get<std::string>(value));
}

// --- files
// ----------------------------------------------------------------------------------------

constexpr std::array<uint32_t, 256> make_crc_table() {
  constexpr uint32_t kCastagnoli = 0x82f63b78;
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ kCastagnoli : crc >> 1;
    table[i] = crc;
  }
  return table;
}

std::string file_name(double seconds) {
  static std::atomic<int> count{0};
  return EventFile::file_head(seconds) + host_name() + "." + std::to_string(::getpid()) + "." +
         std::to_string(count++);
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  static constexpr auto kTable = make_crc_table();
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 255] ^ crc >> 8;
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

HyperParameter hyper_parameter(const std::string& toml) {
  if (toml == "true" || toml == "false") return toml == "true";
  char* end = nullptr;
  const double number = std::strtod(toml.c_str(), &end);
  if (!toml.empty() && *end == '\0') return number;
  const bool quoted = toml.size() >= 2 && toml.front() == '"' && toml.back() == '"';
  return quoted ? toml.substr(1, toml.size() - 2) : toml;
}

std::string EventFile::file_head(double seconds) {
  return "events.out.tfevents." + std::to_string(static_cast<int64_t>(seconds)) + ".";
}

EventFile::EventFile(const fs::path& folder, double seconds) : path_(folder / file_name(seconds)) {
  fs::create_directories(folder);
  fd_ = UniqueFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  if (!fd_) throw file_error("write", path_);
  record(real(1, seconds) + bytes(3, "brain.Event:2"));
}

void EventFile::scalar(double seconds, int64_t step, std::string_view tag, double value) {
  record(event(seconds, step, bytes(1, tag) + real32(2, static_cast<float>(value))));
}

void EventFile::text(double seconds, int64_t step, std::string_view tag, std::string_view text) {
  record(event(seconds, step, bytes(1, tag) + string_tensor(text) + metadata("text", "")));
}

void EventFile::hyper_parameters(
    double seconds, const std::vector<std::pair<std::string, HyperParameter>>& parameters,
    const std::vector<std::string>& metrics) {
  constexpr int kExperiment = 2, kStart = 3, kEnd = 4;
  constexpr uint64_t kSuccess = 1;
  std::string experiment, start;
  for (const auto& [name, value] : parameters) {
    experiment += bytes(4, bytes(1, name) + integer(4, type_of(value)));
    start += bytes(1, bytes(1, name) + bytes(2, protobuf_value(value)));
  }
  for (const std::string& metric : metrics) experiment += bytes(5, bytes(1, bytes(2, metric)));
  const auto write = [&](std::string_view tag, int field, const std::string& message) {
    record(event(seconds, 0, hyper_parameter_summary(tag, field, message)));
  };
  write("_hparams_/experiment", kExperiment, experiment);
  write("_hparams_/session_start_info", kStart, start);
  write("_hparams_/session_end_info", kEnd, integer(1, kSuccess));
}

// One write a record, so that a reader never sees a torn one after a whole one.
void EventFile::record(std::string_view payload) {
  const std::string length = raw(static_cast<uint64_t>(payload.size()));
  const std::string whole =
      length + raw(masked_crc32c(length)) + std::string(payload) + raw(masked_crc32c(payload));
  const std::lock_guard guard(writing_);
  try {
    write_all(fd_.get(), whole.data(), whole.size(), path_);
    size_ += static_cast<int64_t>(whole.size());
  } catch (const Error&) {
    // A part of a record would hide all that follow it.
    if (::ftruncate(fd_.get(), size_) != 0) throw file_error("shorten", path_);
    throw;
  }
}

}  // namespace exprun
