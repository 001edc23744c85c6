#include "engine/checkpoint/safetensors.h"

#include <ATen/ops/from_blob.h>
#include <fcntl.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/files/llmc_checkpoint.h"
#include "base/json_text.h"

namespace exprun {
namespace {

using nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr size_t kAlignment = 8;  // of the data, by spaces after the header

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

std::string make_header(const std::vector<NamedTensor>& tensors,
                        const SafetensorsMetadata& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
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

std::optional<at::ScalarType> dtype_named(const std::string& name) {
  for (const auto& [known, type] : kDtypes)
    if (name == known) return type;
  return std::nullopt;
}

}  // namespace

SafetensorsMetadata vocabulary_metadata(std::optional<int64_t> vocab_size) {
  if (!vocab_size) return {};
  return {{kVocabSize, std::to_string(*vocab_size)}};
}

void write_safetensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors,
                       const SafetensorsMetadata& metadata) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) throw file_error("write", file);
  const std::string header = make_header(tensors, metadata);
  const uint64_t length = header.size();
  write_all(fd.get(), &length, kLengthBytes, file);
  write_all(fd.get(), header.data(), header.size(), file);
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_contiguous() || !tensor.is_cpu())
      throw std::logic_error("safetensors: '" + name + "' is not contiguous on the CPU");
    write_all(fd.get(), tensor.const_data_ptr(), tensor.nbytes(), file);
  }
}

Safetensors::Safetensors(const std::filesystem::path& file)
    : file_(file),
      mapped_(file),
      header_(is_llmc_checkpoint(mapped_.bytes()) ? parse_llmc_checkpoint(mapped_.bytes(), file)
                                                  : parse_safetensors(mapped_.bytes(), file)) {}

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : header_.entries) names.push_back(name);
  return names;
}

const SafetensorsEntry* Safetensors::find(const std::string& name) const {
  const auto found = header_.entries.find(name);
  return found == header_.entries.end() ? nullptr : &found->second;
}

at::Tensor Safetensors::tensor(const std::string& name) const {
  const SafetensorsEntry* entry = find(name);
  if (!entry) throw Error("safetensors: '" + file_.string() + "' has no tensor '" + name + "'");
  const auto dtype = dtype_named(entry->dtype);
  if (!dtype)
    throw Error("safetensors: '" + name + "' in '" + file_.string() + "' has the dtype " +
                entry->dtype + ", which exprun does not read");
  auto* data = const_cast<std::byte*>(mapped_.bytes().data() + header_.data_begin + entry->begin);
  return at::from_blob(data, entry->shape, at::TensorOptions().dtype(*dtype));
}

void Safetensors::release(const std::string& name) const {
  const SafetensorsEntry& entry = header_.entries.at(name);
  mapped_.release(header_.data_begin + entry.begin, header_.data_begin + entry.end);
}

}  // namespace exprun
