#include "control/launch/finite_weights.h"

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/mapped_file.h"

namespace exprun {
namespace {

using Bytes = std::span<const std::byte>;

// A float whose exponent has every bit set is nan or infinite.
template <class Word>
bool all_finite(Bytes bytes, Word exponent) {
  for (size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if ((word & exponent) == exponent) return false;
  }
  return true;
}

// Of a dtype of safetensors. What is no float is finite.
bool all_finite(const std::string& dtype, Bytes bytes) {
  if (dtype == "F64") return all_finite<uint64_t>(bytes, 0x7ff0'0000'0000'0000);
  if (dtype == "F32") return all_finite<uint32_t>(bytes, 0x7f80'0000);
  if (dtype == "BF16") return all_finite<uint16_t>(bytes, 0x7f80);
  if (dtype == "F16") return all_finite<uint16_t>(bytes, 0x7c00);
  return true;
}

[[noreturn]] void refuse(const std::filesystem::path& file) {
  throw Error("launch: " + file.string() + " is no safetensors");
}

// The name of a tensor that is not finite: a safetensors file is the size of its JSON header, that,
// and the tensors.
std::optional<std::string> non_finite_in(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const Bytes all = mapped.bytes();
  uint64_t size = 0;
  if (all.size() < sizeof size) refuse(file);
  std::memcpy(&size, all.data(), sizeof size);
  if (size > all.size() - sizeof size) refuse(file);
  const auto header = parse_json_or_discard<nlohmann::json>(
      std::string(reinterpret_cast<const char*>(all.data()) + sizeof size, size));
  if (!header.is_object()) refuse(file);
  const Bytes tensors = all.subspan(sizeof size + size);
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const auto begin = tensor.at("data_offsets").at(0).get<uint64_t>();
    const auto end = tensor.at("data_offsets").at(1).get<uint64_t>();
    if (begin > end || end > tensors.size()) refuse(file);
    if (!all_finite(tensor.at("dtype").get<std::string>(), tensors.subspan(begin, end - begin)))
      return name;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> non_finite_tensor(const std::filesystem::path& checkpoint) {
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    const auto file = checkpoint / name;
    if (!std::filesystem::exists(file)) continue;
    if (const auto tensor = non_finite_in(file))
      return "'" + *tensor + "' in " + name + " is not finite";
  }
  return std::nullopt;
}

}  // namespace exprun
