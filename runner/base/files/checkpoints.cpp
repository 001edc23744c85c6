#include "base/files/checkpoints.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/files/safetensors_header.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step_";

std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto step = parse_number<int64_t>(std::string_view(name).substr(kPrefix.size()));
  if (step.value_or(-1) < 0) return std::nullopt;
  return step;
}

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
std::optional<std::string> non_finite_in(const fs::path& file) {
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
std::optional<std::string> non_finite_tensor(const fs::path& checkpoint) {
  for (const char* name : {kModelFile, kOptimizerFile}) {
    const auto file = checkpoint / name;
    if (!fs::exists(file)) continue;
    if (const auto tensor = non_finite_in(file))
      return "'" + *tensor + "' in " + name + " is not finite";
  }
  return std::nullopt;
}

// The newest with at most so many steps that has no problem.
std::optional<CheckpointFolder> newest_without(
    const std::function<std::optional<std::string>(const fs::path&)>& problem_of,
    const RunFolder& run, int64_t most_steps, std::vector<std::string>& skipped) {
  for (const CheckpointFolder& checkpoint : complete_checkpoints(run, &skipped)) {
    if (checkpoint.step > most_steps) continue;
    const auto problem = problem_of(checkpoint.path);
    if (!problem) return checkpoint;
    skipped.push_back(checkpoint.path.filename().string() + ": " + *problem);
  }
  return std::nullopt;
}

std::optional<std::string> damage(const fs::path& checkpoint) {
  return manifest_problem(checkpoint, Verify::hashes);
}

}  // namespace

CheckpointFacts checkpoint_facts(const fs::path& checkpoint) {
  const auto state = parse_json_or_discard<nlohmann::json>(read_file(checkpoint / kStateFile));
  if (!state.is_object()) return {};
  CheckpointFacts facts{state.value("recipe_hash", ""), std::nullopt};
  if (const auto best = state.find("best"); best != state.end() && !best->is_null())
    facts.best_step = best->at("step").get<int64_t>();
  return facts;
}

std::string checkpoint_name(int64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "step_%08lld", static_cast<long long>(step));
  return name;
}

std::optional<NamedCheckpoint> checkpoint_at(const fs::path& path) {
  std::error_code ignored;
  // Both without a slash at the end.
  fs::path folder = (fs::absolute(path, ignored).lexically_normal() / "").parent_path();
  fs::path written = (path / "").parent_path();
  // Other words may be typed in a checkpoint's folder: "@last" is no file there.
  if (file_exists(folder)) {
    folder = folder.parent_path();
    written = written.parent_path();
  }
  const auto step = step_of(folder.filename().string());
  const fs::path run = folder.parent_path().parent_path();
  if (!step || !run.has_filename() || folder.parent_path() != RunFolder{run}.checkpoints())
    return std::nullopt;
  const fs::path run_as_written = written.parent_path().parent_path();
  return NamedCheckpoint{{run_as_written.filename() == run.filename() ? run_as_written : run},
                         *step};
}

std::string advice_to_merge_adapter(const std::string& checkpoint) {
  return "`exprun export " + checkpoint +
         " --huggingface DIR` merges the adapter into the weights; then set model.init_from=DIR";
}

std::vector<CheckpointFolder> complete_checkpoints(const RunFolder& run,
                                                   std::vector<std::string>* skipped) {
  std::vector<CheckpointFolder> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run.checkpoints(), error)) {
    const std::string name = entry.path().filename().string();
    const auto step = step_of(name);
    if (!step) continue;  // a folder that was being written
    const auto problem = manifest_problem(entry.path(), Verify::sizes);
    if (!problem) found.push_back({entry.path(), *step});
    if (problem && skipped) skipped->push_back(name + ": " + *problem);
  }
  std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.step > b.step; });
  return found;
}

std::optional<CheckpointFolder> newest_intact(const RunFolder& run, int64_t most_steps) {
  std::vector<std::string> skipped;
  return newest_without(damage, run, most_steps, skipped);
}

std::optional<CheckpointFolder> newest_to_continue_from(const RunFolder& run,
                                                        std::vector<std::string>& skipped) {
  const auto problem_of = [](const fs::path& checkpoint) {
    auto problem = damage(checkpoint);
    return problem ? problem : non_finite_tensor(checkpoint);
  };
  return newest_without(problem_of, run, std::numeric_limits<int64_t>::max(), skipped);
}

void warn_of_skipped(const std::vector<std::string>& skipped) {
  for (const std::string& reason : skipped) log_warning("skipped a checkpoint: " + reason);
}

}  // namespace exprun
