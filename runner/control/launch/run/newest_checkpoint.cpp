#include "control/launch/run/newest_checkpoint.h"

#include <cstdint>
#include <cstring>
#include <span>

#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/files/safetensors_header.h"
#include "base/log.h"

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

// The name of a tensor that is not.
std::optional<std::string> non_finite_in(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const SafetensorsHeader header = parse_safetensors(mapped.bytes(), file);
  const Bytes tensors = mapped.bytes().subspan(header.data_begin);
  for (const auto& [name, tensor] : header.entries)
    if (!all_finite(tensor.dtype, tensors.subspan(tensor.begin, tensor.end - tensor.begin)))
      return name;
  return std::nullopt;
}

// The first value that is nan or infinite in a checkpoint's tensors, weights before the optimizer's
// state: "'embedding.weight' in model.safetensors is not finite".
std::optional<std::string> non_finite_tensor(const std::filesystem::path& checkpoint) {
  for (const char* name : {kModelFile, kOptimizerFile}) {
    const auto file = checkpoint / name;
    if (!std::filesystem::exists(file)) continue;
    if (const auto tensor = non_finite_in(file))
      return "'" + *tensor + "' in " + name + " is not finite";
  }
  return std::nullopt;
}

}  // namespace

std::optional<CheckpointFolder> newest_to_continue_from(const RunFolder& folder,
                                                        std::vector<std::string>& passed_over) {
  for (const CheckpointFolder& checkpoint : complete_checkpoints(folder, &passed_over)) {
    auto problem = manifest_problem(checkpoint.path, Verify::hashes);
    if (!problem) problem = non_finite_tensor(checkpoint.path);
    if (!problem) return checkpoint;
    passed_over.push_back(checkpoint.path.filename().string() + ": " + *problem);
  }
  return std::nullopt;
}

void warn_of(const std::vector<std::string>& passed_over) {
  for (const std::string& reason : passed_over) log_warning("skipped a checkpoint: " + reason);
}

}  // namespace exprun
