#include "engine/checkpoint/safetensors.h"

#include <ATen/ops/from_blob.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"

namespace exprun {
namespace {

using nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr size_t kAlignment = 8;                // of the data, by spaces behind the header
constexpr uint64_t kLargestHeader = 100 << 20;  // the reference reader's limit
constexpr const char* kMetadata = "__metadata__";

constexpr std::array<std::pair<const char*, at::ScalarType>, 10> kDtypes{{
    {"F64", at::kDouble},
    {"F32", at::kFloat},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"I64", at::kLong},
    {"I32", at::kInt},
    {"I16", at::kShort},
    {"I8", at::kChar},
    {"U8", at::kByte},
    {"BOOL", at::kBool},
}};

const char* dtype_name(at::ScalarType dtype) {
  for (const auto& [name, type] : kDtypes)
    if (type == dtype) return name;
  throw std::logic_error("safetensors: no name for this dtype");
}

std::string make_header(const std::vector<NamedTensor>& tensors) {
  json header = json::object();
  size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const size_t end = offset + tensor.nbytes();
    header[name] = {{"dtype", dtype_name(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json_text(header);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

Error damaged(const std::filesystem::path& file, const std::string& what) {
  return Error("safetensors: '" + file.string() +
               "' is damaged or not a safetensors file: " + what);
}

uint64_t header_length(std::span<const std::byte> bytes, const std::filesystem::path& file) {
  uint64_t length = 0;
  if (bytes.size() < kLengthBytes)
    throw damaged(file, "it has only " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kLargestHeader || length > bytes.size() - kLengthBytes)
    throw damaged(file, "its header should have " + std::to_string(length) +
                            " bytes, but the file has " + std::to_string(bytes.size()));
  return length;
}

std::optional<at::ScalarType> dtype_named(const std::string& name) {
  for (const auto& [known, type] : kDtypes)
    if (name == known) return type;
  return std::nullopt;
}

// Bytes of a shape, or nothing where it is negative or too large for any file.
std::optional<size_t> byte_count(const std::vector<int64_t>& shape, at::ScalarType dtype) {
  size_t bytes = at::elementSize(dtype);
  for (const int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes))
      return std::nullopt;
  return bytes;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) throw file_error("write", file);
  const std::string header = make_header(tensors);
  const uint64_t length = header.size();
  write_all(fd.get(), &length, kLengthBytes, file);
  write_all(fd.get(), header.data(), header.size(), file);
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_contiguous() || !tensor.is_cpu())
      throw std::logic_error("safetensors: '" + name + "' is not contiguous on the CPU");
    write_all(fd.get(), tensor.const_data_ptr(), tensor.nbytes(), file);
  }
}

Safetensors::Safetensors(const std::filesystem::path& file) : file_(file), mapped_(file) {
  const auto bytes = mapped_.bytes();
  const uint64_t length = header_length(bytes, file_);
  data_begin_ = kLengthBytes + length;
  const auto text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  parse({text, length}, bytes.size() - data_begin_);
  check_coverage(bytes.size() - data_begin_);
}

void Safetensors::parse(std::string_view header, size_t data_size) {
  try {
    const json parsed = parse_json<json>(header);
    for (const auto& [name, value] : parsed.items()) {
      if (name == kMetadata) continue;
      const auto dtype = dtype_named(value.at("dtype").get<std::string>());
      if (!dtype)
        throw damaged(file_,
                      "'" + name + "' has the unsupported dtype " + json_text(value.at("dtype")));
      Entry entry{*dtype, value.at("shape").get<std::vector<int64_t>>(),
                  value.at("data_offsets").at(0).get<size_t>(),
                  value.at("data_offsets").at(1).get<size_t>()};
      const auto bytes = byte_count(entry.shape, entry.dtype);
      if (entry.end < entry.begin || entry.end > data_size || bytes != entry.end - entry.begin)
        throw damaged(file_,
                      "the offsets of '" + name + "' do not match its shape or the file size");
      entries_.emplace(name, std::move(entry));
    }
  } catch (const json::exception& error) {
    throw damaged(file_, std::string("its header is invalid (") + error.what() + ")");
  }
}

void Safetensors::check_coverage(size_t data_size) const {
  std::vector<std::pair<size_t, size_t>> parts;
  for (const auto& [name, entry] : entries_) parts.emplace_back(entry.begin, entry.end);
  std::sort(parts.begin(), parts.end());
  size_t covered = 0;
  for (const auto& [begin, end] : parts) {
    if (begin != covered) throw damaged(file_, "its tensors overlap or leave a gap");
    covered = end;
  }
  if (covered != data_size)
    throw damaged(file_, "its tensors have " + std::to_string(covered) +
                             " bytes, but the file has " + std::to_string(data_size) +
                             " after its header");
}

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

at::Tensor Safetensors::tensor(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    throw Error("safetensors: '" + file_.string() + "' has no tensor '" + name + "'");
  const auto& [dtype, shape, begin, end] = found->second;
  auto* data = const_cast<std::byte*>(mapped_.bytes().data() + data_begin_ + begin);
  return at::from_blob(data, shape, at::TensorOptions().dtype(dtype));
}

}  // namespace exprun
