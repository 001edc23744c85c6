#include "base/files/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/diagnostic.h"
#include "base/json_text.h"

namespace exprun {
namespace {

using nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kLargestHeader = 100 << 20;  // the reference reader's limit
constexpr size_t kMostDimensions = 64;
constexpr const char* kMetadata = "__metadata__";

constexpr std::array<std::pair<const char*, size_t>, 15> kDtypes{{{"F64", 8},
                                                                  {"F32", 4},
                                                                  {"F16", 2},
                                                                  {"BF16", 2},
                                                                  {"F8_E4M3", 1},
                                                                  {"F8_E5M2", 1},
                                                                  {"I64", 8},
                                                                  {"I32", 4},
                                                                  {"I16", 2},
                                                                  {"I8", 1},
                                                                  {"U64", 8},
                                                                  {"U32", 4},
                                                                  {"U16", 2},
                                                                  {"U8", 1},
                                                                  {"BOOL", 1}}};

using Damaged = Error (*)(const std::filesystem::path& file, const std::string& what);

Error damaged_tensors(const std::filesystem::path& file, const std::string& what) {
  return Error("safetensors: '" + file.string() +
               "' is damaged or not a safetensors file: " + what);
}

Error damaged_index(const std::filesystem::path& file, const std::string& what) {
  return Error("safetensors: '" + file.string() +
               "' is not an index of safetensors files: " + what);
}

json parse_strictly(std::string_view text, const std::filesystem::path& file, Damaged damaged) try {
  return parse_strict_object(text);
} catch (const Error& error) {
  throw damaged(file, error.what());
}

uint64_t header_length(std::span<const std::byte> bytes, const std::filesystem::path& file) {
  uint64_t length = 0;
  if (bytes.size() < kLengthBytes)
    throw damaged_tensors(file, "it has only " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kLargestHeader || length > bytes.size() - kLengthBytes)
    throw damaged_tensors(file, "its header should have " + std::to_string(length) +
                                    " bytes, but the file has " + std::to_string(bytes.size()));
  return length;
}

// Whole numbers that an int64 holds; nothing for anything else.
std::optional<std::vector<int64_t>> sizes_of(const json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const json& size : list) {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    if (!size.is_number_unsigned() || size.get<uint64_t>() > kMost) return std::nullopt;
    sizes.push_back(size.get<int64_t>());
  }
  return sizes;
}

// Bytes of a shape, or nothing where no file has so many; a size of 0 hides no other.
std::optional<size_t> byte_count(const std::vector<int64_t>& shape, size_t element) {
  int64_t bytes = static_cast<int64_t>(element);
  bool empty = false;
  for (const int64_t size : shape) {
    empty = empty || size == 0;
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<size_t>(bytes);
}

SafetensorsEntry read_entry(const std::string& name, const json& value, size_t data_size,
                            const std::filesystem::path& file) {
  const auto part = [&](const char* key) -> const json& {
    if (const auto found = value.find(key); found != value.end()) return *found;
    throw damaged_tensors(file, "'" + name + "' has no " + key);
  };
  if (!value.is_object()) throw damaged_tensors(file, "'" + name + "' is not a JSON object");
  const json& dtype = part("dtype");
  const size_t element =
      dtype.is_string() ? safetensors_element_size(dtype.get_ref<const std::string&>()) : 0;
  if (element == 0)
    throw damaged_tensors(file, "'" + name + "' has the unsupported dtype " +
                                    json_text(dtype, -1, NotUtf8::replaced));
  const auto shape = sizes_of(part("shape"));
  if (!shape || shape->size() > kMostDimensions)
    throw damaged_tensors(file, "the shape of '" + name + "' is not a list of sizes");
  const auto offsets = sizes_of(part("data_offsets"));
  if (!offsets || offsets->size() != 2)
    throw damaged_tensors(file, "the offsets of '" + name + "' are not two whole numbers");
  SafetensorsEntry entry{dtype.get<std::string>(), *shape, static_cast<size_t>(offsets->front()),
                         static_cast<size_t>(offsets->back())};
  if (entry.end < entry.begin || entry.end > data_size ||
      byte_count(entry.shape, element) != entry.end - entry.begin)
    throw damaged_tensors(file,
                          "the offsets of '" + name + "' do not match its shape or the file size");
  return entry;
}

void check_coverage(const SafetensorsHeader& header, size_t data_size,
                    const std::filesystem::path& file) {
  std::vector<std::pair<size_t, size_t>> parts;
  for (const auto& [name, entry] : header.entries) parts.emplace_back(entry.begin, entry.end);
  std::sort(parts.begin(), parts.end());
  size_t covered = 0;
  for (const auto& [begin, end] : parts) {
    if (begin != covered) throw damaged_tensors(file, "its tensors overlap or leave a gap");
    covered = end;
  }
  if (covered != data_size)
    throw damaged_tensors(file, "its tensors have " + std::to_string(covered) +
                                    " bytes, but the file has " + std::to_string(data_size) +
                                    " after its header");
}

SafetensorsMetadata texts_of(const json& metadata, const std::filesystem::path& file) {
  const bool texts =
      metadata.is_object() && std::all_of(metadata.begin(), metadata.end(),
                                          [](const json& value) { return value.is_string(); });
  if (!texts) throw damaged_tensors(file, "its __metadata__ is not an object of strings");
  return metadata;
}

}  // namespace

size_t safetensors_element_size(std::string_view dtype) {
  for (const auto& [name, size] : kDtypes)
    if (dtype == name) return size;
  return 0;
}

SafetensorsHeader parse_safetensors(std::span<const std::byte> bytes,
                                    const std::filesystem::path& file) {
  const uint64_t length = header_length(bytes, file);
  SafetensorsHeader header;
  header.data_begin = kLengthBytes + length;
  const size_t data_size = bytes.size() - header.data_begin;
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  if (length == 0 || *text != '{')
    throw damaged_tensors(file, "its header does not begin with '{'");
  const json parsed = parse_strictly({text, length}, file, damaged_tensors);
  for (const auto& [name, value] : parsed.items()) {
    if (name == kMetadata)
      header.metadata = texts_of(value, file);
    else
      header.entries.emplace(name, read_entry(name, value, data_size, file));
  }
  check_coverage(header, data_size, file);
  return header;
}

std::map<std::string, std::string> parse_safetensors_index(std::string_view text,
                                                           const std::filesystem::path& file) {
  const json parsed = parse_strictly(text, file, damaged_index);
  const auto map = parsed.find("weight_map");
  if (map == parsed.end() || !map->is_object())
    throw damaged_index(file, "it has no weight_map of names and files");
  std::map<std::string, std::string> files;
  for (const auto& [name, value] : map->items()) {
    if (!value.is_string()) throw damaged_index(file, "'" + name + "' has no name of a file");
    const auto& beside = value.get_ref<const std::string&>();
    const bool plain = beside.find_first_of(std::string("/\\\0", 3)) == beside.npos;
    if (!plain || !beside.ends_with(".safetensors"))
      throw damaged_index(file, "'" + name + "' is said to be in " +
                                    json_text(value, -1, NotUtf8::replaced) +
                                    ", which is not the name of a .safetensors file beside it");
    files.emplace(name, beside);
  }
  return files;
}

}  // namespace exprun
